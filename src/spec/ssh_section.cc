#include "spec/ssh_section.h"

#include <algorithm>
#include <set>

#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/value_schemas.h"
#include "spec/via.h"

namespace autodist::spec {
namespace {

using SectionKind = YamlValue::Kind;

void ReadPort(const KeyedValue& in, SshGroup& group) {
  const auto port = ReadWholeNumber(in.value.text, UINT16_MAX);
  if (port.value_or(0) == 0) {
    in.Report("'port' is " + Shown(in.value) + "; it should be a number from 1 to 65535");
  } else {
    group.port = static_cast<uint16_t>(*port);
  }
}

// How to log in.
std::vector<Key<SshGroup>> LoginKeys() {
  return {
      {{"key_file", "default: the keys of `ssh-agent` and `~/.ssh/config`, then `~/.ssh/id_*`",
        "Path of a private key on the chief: Ed25519, ECDSA or RSA, in OpenSSH, PEM or PKCS#8 "
        "format. Nobody else may be able to read it. A relative path starts in the working "
        "directory. If it is not there, `run` and `validate` report its place in the file.",
        TextSchema(), R"("~/.ssh/id_ed25519")", "identity_file ssh_private_key private_key key"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.key_file); }},
      {{"username", "default: yours",
        "Without blanks, quotes and other characters that a shell would take for more than a "
        "name. The same holds for users in `proxy_jump`, `--hosts`, hostfiles and `init --user`.",
        R"("type": ["string", "integer"], "minLength": 1)", R"("ubuntu")", "user ssh_user"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.username, CheckUser); }},
      {{"port", "default 22", "Of nodes whose `address` names none.",
        R"("type": "integer", "minimum": 1, "maximum": 65535)", "2222"},
       ReadPort},
      {{"proxy_jump", "`[user@]host[:port]`, IPv6 in brackets",
        "The host to log in through; several, from the first, with commas between them. `none`: "
        "no jump, whatever `~/.ssh/config` says.",
        PatternSchema(ProxyJumpPattern()), R"("ann@gate", "gate:2222", "none")", "jump"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.proxy_jump, CheckProxyJump); }},
      {{"host_key_check", "`strict` (default), `accept-new` or `off`",
        "What to do with a host key that is not in known_hosts; see [host keys](#host-keys). With "
        "`--hosts`: `--host-key-check`.",
        R"("enum": ["strict", "accept-new", "off"])", ""},
       [](const KeyedValue& in, SshGroup& group) {
         group.host_key_check = in.As(ReadHostKeyCheck);
       }}};
}

// What runs programs there instead, or after that.
std::vector<Key<SshGroup>> ContainerKeys() {
  return {
      {{"via", "`podman`, `docker`, `apptainer`, `kubectl`, `srun`, or a list of words",
        "What runs programs on the node in place of the SSH login, or with `container` after it; "
        "see [containers](containers.md) and, for `srun`, [Slurm](slurm.md).",
        R"("anyOf": [{"enum": ["podman", "docker", "apptainer", "kubectl", "srun"]}, {)" +
            ListSchema(TextSchema()) + R"(, "minItems": 2}])",
        R"("podman", ["kubectl", "--context", "lab", "exec", "-i", "{node}", "--"])"},
       [](const KeyedValue& in, SshGroup& group) { group.via = ReadVia(in); }},
      {{"container", "name",
        "The container on the node that SSH leads to; with `kubectl`, that of the pod.",
        PatternSchema("[A-Za-z0-9][A-Za-z0-9_.-]*"), R"("train")"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.container, CheckContainer); }},
      {{"image", "name",
        "With `via: podman` or `docker`: ranks run in a container of this image that is made for "
        "the job on each node; with `via: apptainer`, each rank in one. See "
        "[containers](containers.md#made-for-the-job).",
        PatternSchema("[A-Za-z0-9_@%+=:,./{}][A-Za-z0-9_@%+=:,./{}-]*"),
        R"("docker.io/pytorch/pytorch:latest")"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.image, CheckImage); }},
      {{"run_options", "list of words",
        "With `image`: further words of `podman run`, `docker run` or `apptainer exec`.",
        ListSchema(PatternSchema("[A-Za-z0-9_@%+=:,./{}-]+")), R"(["--volume", "/data:/data:ro"])"},
       [](const KeyedValue& in, SshGroup& group) { group.run_options = ReadWords(in); }}};
}

// The environment of the ranks.
std::vector<Key<SshGroup>> EnvironmentKeys() {
  return {
      {{"python_venv", "shell statements",
        "Run once on the node by a clean bash, without `~/.bashrc` or any other start-up file. "
        "What they leave in the environment is what the ranks get. A statement that fails, first "
        "or last, is an error; write `statement \\|\\| true` where it is harmless.",
        TextSchema(), R"("source ~/venv/bin/activate")", "venv"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.python_venv); }},
      {{"shared_envs", "names and values",
        "Set on the node after `python_venv`. `$NAME` and `${NAME}` are replaced by what the node "
        "has; nothing else is interpreted. Where an unset variable is an element of a `:` list, "
        "its colon goes too: with `LD_LIBRARY_PATH` unset, `$LD_LIBRARY_PATH:/opt/lib` is "
        "`/opt/lib`.",
        SharedEnvsSchema(), R"({"LD_LIBRARY_PATH": "$LD_LIBRARY_PATH:/usr/local/cuda/lib64"})",
        "env envs environment"},
       [](const KeyedValue& in, SshGroup& group) { ReadSharedEnvs(in, group.shared_envs); }}};
}

const std::vector<Key<SshGroup>>& GroupKeys() {
  static const auto keys = Joined<SshGroup>({LoginKeys(), ContainerKeys(), EnvironmentKeys()});
  return keys;
}

SshGroup ReadSshGroup(ValueReader& reader, const YamlValue& yaml, const std::string& where,
                      SshSection& section) {
  SshGroup group;
  if (yaml.kind == SectionKind::kNull) return group;  // "lab:" leaves all to ssh's configuration
  const auto given = ReadKeys(reader, yaml, where, GroupKeys(), group);
  if (given && given->contains("key_file")) {
    section.key_files.push_back({group.key_file, given->at("key_file")});
  }
  CheckVia(group, [&](const std::string& what) { reader.Report(yaml, what); });
  return group;
}

bool IsGroupKey(const std::string& word) {
  return std::ranges::any_of(GroupKeys(), [&](const auto& key) { return word == key.text.name; });
}

// Whether the entry is a setting, and not a group that has a setting's name.
bool IsSetting(const YamlValue& key, const YamlValue& value) {
  const bool single = value.kind == SectionKind::kText || value.kind == SectionKind::kList;
  return single && IsGroupKey(key.text);
}

// The first setting directly below 'ssh'; null where all are groups.
const YamlValue* FirstSetting(const YamlValue& ssh) {
  for (size_t i = 0; i + 1 < ssh.items.size(); i += 2) {
    if (IsSetting(*ssh.items[i], *ssh.items[i + 1])) return ssh.items[i];
  }
  return nullptr;
}

// The first group beside settings.
const YamlValue* FirstGroup(const YamlValue& ssh) {
  for (size_t i = 0; i + 1 < ssh.items.size(); i += 2) {
    const bool known = IsGroupKey(ssh.items[i]->text);
    const SectionKind kind = ssh.items[i + 1]->kind;
    if (!known && (kind == SectionKind::kMapping || kind == SectionKind::kNull)) {
      return ssh.items[i];
    }
  }
  return nullptr;
}

}  // namespace

SshSection ReadSsh(ValueReader& reader, const YamlValue& ssh) {
  constexpr char kWanted[] = "a mapping from names of your choice to groups of settings";
  SshSection section;
  section.where = ssh.position;
  if (!reader.CheckKind(ssh, SectionKind::kMapping, "'ssh'", kWanted)) {
    section.unread = true;
    return section;
  }
  const YamlValue* const setting = FirstSetting(ssh);
  if (const YamlValue* const group = setting ? FirstGroup(ssh) : nullptr) {
    reader.Report(*setting, "'ssh' has " + Shown(*setting) + " beside the group " + Shown(*group) +
                                "; put it below the name of a group");
    section.unread = true;
  } else if (setting) {
    section.login = ReadSshGroup(reader, ssh, "'ssh'", section);
  } else {
    reader.ForEachEntry(ssh, [&](const YamlValue& key, const YamlValue& value) {
      if (key.text.empty()) {
        reader.Report(key, "an ssh group without a name");
      } else if (section.groups.contains(key.text)) {
        reader.Report(key, "ssh group " + Shown(key) + " appears twice; keep one");
      } else {
        section.groups[key.text] =
            ReadSshGroup(reader, value, "ssh group " + Quoted(key.text), section);
      }
    });
  }
  return section;
}

void ReadSharedEnvs(const KeyedValue& in, SharedEnvs& envs) {
  constexpr char kWanted[] = "a mapping from variable names to values";
  ValueReader& reader = in.reader;
  if (!reader.CheckKind(in.value, SectionKind::kMapping, Quoted(in.name), kWanted)) return;
  std::set<std::string> seen;
  reader.ForEachEntry(in.value, [&](const YamlValue& key, const YamlValue& value) {
    const std::string& name = key.text;
    if (const Status status = CheckVariableName(name); !status.ok()) {
      reader.Report(key, Message(status));
    } else if (!seen.insert(name).second) {
      reader.Report(key, "variable " + Shown(key) + " appears twice; keep one");
    } else if (value.kind == SectionKind::kList || value.kind == SectionKind::kMapping) {
      reader.Report(value, "the value of " + Quoted(name) + " is " + TypeName(value) +
                               "; it should be a text");
    } else {
      const bool empty = value.text.empty();
      envs.emplace_back(name, empty ? "" : reader.ReadString(value, name));
    }
  });
}

std::string SharedEnvsSchema() {
  return R"("type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}, )"
         R"("additionalProperties": {"type": ["string", "number", "boolean", "null"]})";
}

std::vector<KeyText> GroupKeyTexts() { return TextsOf(GroupKeys()); }

}  // namespace autodist::spec
