#include "spec/ssh_section.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/via.h"

namespace autodist::spec {
namespace {

using SectionKind = YamlValue::Kind;

constexpr std::array<std::string_view, 11> kGroupKeys = {
    "key_file",    "username", "port",      "proxy_jump", "host_key_check", "python_venv",
    "shared_envs", "via",      "container", "image",      "run_options"};

SshGroup ReadSshGroup(ValueReader& reader, const YamlValue& yaml, const std::string& where,
                      SshSection& section) {
  SshGroup group;
  if (yaml.kind == SectionKind::kNull) return group;  // "lab:" leaves all to ssh's configuration
  reader.ReadMapping(
      yaml, where,
      {{"key_file",
        [&](const YamlValue& value) {
          reader.Text("key_file", group.key_file).second(value);
          section.key_files.push_back({group.key_file, value.position});
        }},
       reader.Text("username", group.username, CheckUser),
       {"port",
        [&](const YamlValue& value) {
          const auto port = ReadWholeNumber(value.text, UINT16_MAX);
          if (port.value_or(0) == 0) {
            reader.Report(value,
                          "'port' is " + Shown(value) + "; it should be a number from 1 to 65535");
          } else {
            group.port = static_cast<uint16_t>(*port);
          }
        }},
       reader.Text("proxy_jump", group.proxy_jump, CheckProxyJump),
       {"host_key_check",
        [&](const YamlValue& value) {
          group.host_key_check = reader.ReadAs(value, "host_key_check", ReadHostKeyCheck);
        }},
       reader.Text("python_venv", group.python_venv),
       {"shared_envs",
        [&](const YamlValue& value) { ReadSharedEnvs(reader, value, group.shared_envs); }},
       {"via", [&](const YamlValue& value) { group.via = ReadVia(reader, value); }},
       reader.Text("container", group.container, CheckContainer),
       reader.Text("image", group.image, CheckImage),
       {"run_options", [&](const YamlValue& value) {
          group.run_options = ReadWords(reader, value, "run_options");
        }}});
  CheckVia(group, [&](const std::string& what) { reader.Report(yaml, what); });
  return group;
}

// Whether the entry is a setting, and not a group that has a setting's name.
bool IsSetting(const YamlValue& key, const YamlValue& value) {
  const bool single = value.kind == SectionKind::kText || value.kind == SectionKind::kList;
  return single && std::ranges::find(kGroupKeys, key.text) != kGroupKeys.end();
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
    const bool known = std::ranges::find(kGroupKeys, ssh.items[i]->text) != kGroupKeys.end();
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

void ReadSharedEnvs(ValueReader& reader, const YamlValue& yaml, SharedEnvs& envs) {
  constexpr char kWanted[] = "a mapping from variable names to values";
  if (!reader.CheckKind(yaml, SectionKind::kMapping, "'shared_envs'", kWanted)) return;
  std::set<std::string> seen;
  reader.ForEachEntry(yaml, [&](const YamlValue& key, const YamlValue& value) {
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

}  // namespace autodist::spec
