#include "spec/ssh_section.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/value_reader.h"

namespace autodist::spec {
namespace {

constexpr char kWantedVia[] =
    "podman, docker, apptainer, kubectl, srun, or the words of a command that runs what follows "
    "them, such as "
    "[my-exec, '{node}', --]";
constexpr const char* kPrograms[] = {"podman", "docker", "apptainer", "kubectl", "srun"};

// Whether a login shell leaves the argument unchanged.
bool IsPlain(const std::string& word) {
  return std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_@%+=:,./-{}").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool Mentions(const std::vector<std::string>& words, const char* what) {
  return std::ranges::any_of(
      words, [&](const std::string& word) { return word.find(what) != std::string::npos; });
}

using SectionKind = YamlValue::Kind;

void ReadPort(const KeyedValue& in, SshGroup& group) {
  const auto port = ReadWholeNumber(in.value.text, UINT16_MAX);
  if (port.value_or(0) == 0) {
    in.Report("'port' is " + Shown(in.value) + "; it should be a number from 1 to 65535");
  } else {
    group.port = static_cast<uint16_t>(*port);
  }
}

// The login keys.
std::vector<Key<SshGroup>> LoginKeys() {
  return {
      {{"key_file", "default: the keys of `ssh-agent` and `~/.ssh/config`, then `~/.ssh/id_*`",
        "Path of a private key on the chief's machine: Ed25519, ECDSA or RSA, in OpenSSH, PEM or "
        "PKCS#8 format. Only you may have access to it. A relative path is relative to the working "
        "directory. If it is missing, `run` and `validate` report the line of the spec.",
        TextSchema(), R"("~/.ssh/id_ed25519")", "identity_file ssh_private_key private_key key"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.key_file); }},
      {{"username", "default: `User` of `~/.ssh/config`, or your user name",
        "The user that logs in to the node; jump hosts have theirs in `proxy_jump`. The name may "
        "not contain blanks, quotes or other special characters of a shell.",
        R"("type": ["string", "integer"], "minLength": 1)", R"("ubuntu")", "user ssh_user"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.username, CheckUser); }},
      {{"port", "default 22", "The SSH port of nodes without a port in `address`.",
        R"("type": "integer", "minimum": 1, "maximum": 65535)", "2222"},
       ReadPort},
      {{"proxy_jump", "`[user@]host[:port]`, IPv6 in brackets",
        "The jump host, or several separated by commas, the first one first. `none`: no jump host, "
        "whatever `~/.ssh/config` says.",
        PatternSchema(ProxyJumpPattern()), R"("ann@gate", "gate:2222", "none")", "jump"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.proxy_jump, CheckProxyJump); }},
      {{"host_key_check", "`strict` (default), `accept-new` or `off`",
        "How to treat a host key that is not in known_hosts; see [host keys](#host-keys). "
        "`--host-key-check` overrides it.",
        R"("enum": ["strict", "accept-new", "off"])", ""},
       [](const KeyedValue& in, SshGroup& group) {
         group.host_key_check = in.As(ReadHostKeyCheck);
       }}};
}

// The keys for other ways to run programs, instead of SSH or after it.
std::vector<Key<SshGroup>> ContainerKeys() {
  return {
      {{"via", "`podman`, `docker`, `apptainer`, `kubectl`, `srun`, or an argv",
        "The program that runs commands in the node, such as `podman exec`. Without `image` and "
        "`container`, and always with `kubectl`, it runs on the chief's machine, instead of an "
        "SSH login. Otherwise autodist logs in to the node by SSH and runs it there. See "
        "[containers](../how-to/containers.md) and, for `srun`, [Slurm](../how-to/slurm.md).",
        R"("anyOf": [{"enum": ["podman", "docker", "apptainer", "kubectl", "srun"]}, {)" +
            ListSchema(TextSchema()) + R"(, "minItems": 2}])",
        R"("podman", ["kubectl", "--context", "lab", "exec", "-i", "{node}", "--"])"},
       [](const KeyedValue& in, SshGroup& group) { group.via = ReadVia(in); }},
      {{"container", "name",
        "The container on the node that SSH leads to; with `kubectl`, the container of the pod.",
        PatternSchema("[A-Za-z0-9][A-Za-z0-9_.-]*"), R"("train")"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.container, CheckContainer); }},
      {{"image", "name",
        "With `via: podman` or `docker`, the image of a container that is created for the job on "
        "each node; with `via: apptainer`, for each rank. See "
        "[containers](../how-to/containers.md#create-a-container-for-each-job).",
        PatternSchema("[A-Za-z0-9_@%+=:,./{}][A-Za-z0-9_@%+=:,./{}-]*"),
        R"("docker.io/pytorch/pytorch:latest")"},
       [](const KeyedValue& in, SshGroup& group) { in.Text(group.image, CheckImage); }},
      {{"run_options", "list of arguments",
        "With `image`: further arguments of `podman run`, `docker run` or `apptainer exec`.",
        ListSchema(PatternSchema("[A-Za-z0-9_@%+=:,./{}-]+")), R"(["--volume", "/data:/data:ro"])"},
       [](const KeyedValue& in, SshGroup& group) { group.run_options = ReadWords(in); }}};
}

// The environment of the ranks.
std::vector<Key<SshGroup>> EnvironmentKeys() {
  return {
      {{"python_venv", "shell statements",
        "Statements that a clean bash runs once on the node, without `~/.bashrc` or any other "
        "start-up file; see [environments](../how-to/environments.md). The ranks get the "
        "environment that they produce. A failed statement is an error; write "
        "`statement \\|\\| true` if its failure is harmless.",
        TextSchema(), R"("source ~/venv/bin/activate")", "venv"},
       [](const KeyedValue& in, SshGroup& group) {
         group.python_venv = in.reader.ReadString(in.value, in.name);
       }},
      {{"shared_envs", "names and values",
        "Variables that are set on the node after `python_venv`. `$NAME` and `${NAME}` are "
        "replaced by the node's values; nothing else is interpreted. If an unset variable is an "
        "element of a `:` list, its colon is removed too: with `LD_LIBRARY_PATH` unset, "
        "`$LD_LIBRARY_PATH:/opt/lib` becomes `/opt/lib`.",
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
  // "lab:" leaves everything to ssh's configuration.
  if (yaml.kind == SectionKind::kNull) return group;
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

// Whether the entry is a setting, not a group with the name of a setting.
bool IsSetting(const YamlValue& key, const YamlValue& value) {
  const bool single = value.kind == SectionKind::kText || value.kind == SectionKind::kList;
  return single && IsGroupKey(key.text);
}

// Returns the first setting directly below 'ssh'; null if all entries are groups.
const YamlValue* FirstSetting(const YamlValue& ssh) {
  for (size_t i = 0; i + 1 < ssh.items.size(); i += 2) {
    if (IsSetting(*ssh.items[i], *ssh.items[i + 1])) return ssh.items[i];
  }
  return nullptr;
}

// Returns the first group beside settings.
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

std::vector<std::string> ReadVia(const KeyedValue& in) {
  if (in.value.kind == YamlValue::Kind::kText) {
    const std::string word = in.reader.ReadString(in.value, in.name);
    if (word.empty()) return {};
    if (std::ranges::count(kPrograms, word) > 0) return {word};
    in.Report("'via' is " + Shown(in.value) + "; it should be " + kWantedVia);
    return {};
  }
  if (!in.IsList(kWantedVia)) return {};
  std::vector<std::string> words = ReadWords(in);
  if (words.size() < 2) in.Report(std::string("'via' should be ") + kWantedVia);
  return words;
}

std::vector<std::string> ReadWords(const KeyedValue& in) {
  std::vector<std::string> words;
  if (!in.IsList("a list of words")) return words;
  in.reader.ForEach(in.value, [&](const YamlValue& word) {
    words.push_back(in.reader.ReadString(word, in.name));
  });
  return words;
}

Status CheckContainer(const std::string& text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '-';
  };
  if (std::isalnum(static_cast<unsigned char>(text[0])) && std::ranges::all_of(text, fits)) {
    return OkStatus();
  }
  return Error(StatusCode::kInvalidArgument,
               Quoted(text) +
                   " is not the name of a container: letters, digits, '_', '.' and '-', "
                   "the first a letter or digit");
}

Status CheckImage(const std::string& text) {
  if (IsPlain(text) && text[0] != '-') return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               Quoted(text) + " is not the name of an image, such as docker.io/library/debian:12");
}

void CheckVia(const SshGroup& group, const std::function<void(const std::string& what)>& report) {
  const bool listed = group.via.size() > 1;
  if (group.via.empty()) {
    if (!group.container.empty()) report("'container' needs 'via: podman' or 'via: docker'");
    if (!group.image.empty()) report("'image' needs 'via: podman', docker or apptainer");
  }
  if (group.image.empty() && !group.run_options.empty()) report("'run_options' needs an 'image'");
  if (group.via.empty()) return;
  if (!group.image.empty() &&
      (!group.container.empty() || listed || group.via[0] == "kubectl" || group.BySlurm())) {
    report(
        "'image' is for a container that podman or docker makes: 'via: podman' or 'via: docker', "
        "and no 'container'");
    return;
  }
  if (group.PerRank()) {
    if (group.image.empty()) report("'via: apptainer' needs an 'image', a file or folder");
    if (!group.container.empty()) report("'container' cannot be used with 'via: apptainer'");
    return;
  }
  if (group.BySlurm() && !group.container.empty()) {
    report("'container' cannot be used with 'via: srun'");
  }
  if (group.InContainerBehindLogin()) {
    if (listed && !Mentions(group.via, "{container}")) {
      report("'via' does not say where {container} goes");
    }
    if (!std::ranges::all_of(group.via, IsPlain) ||
        !std::ranges::all_of(group.run_options, IsPlain)) {
      report(
          "the words of 'via' and 'run_options' pass a login shell; they may have letters, digits "
          "and _@%+=:,./-");
    }
    return;
  }
  if (listed && !Mentions(group.via, "{node}")) report("'via' does not say where {node} goes");
  const std::pair<const char*, bool> of_ssh[] = {
      {"key_file", !group.key_file.empty()},
      {"username", !group.username.empty()},
      {"port", group.port.has_value()},
      {"proxy_jump", !group.proxy_jump.empty()},
      {"host_key_check", group.host_key_check.has_value()}};
  for (const auto& [key, given] : of_ssh) {
    if (!given) continue;
    report(Quoted(key) +
           " means nothing where there is no SSH login; for a container on a node that "
           "SSH reaches, give its name as 'container'");
  }
}

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
