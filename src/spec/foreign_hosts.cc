#include "spec/foreign_hosts.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/host_list.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

using GroupVariables = Inventory::Variables;

constexpr char kEveryGroup[] = "all";
constexpr size_t kMaxGroupsShown = 8;

// Returns the value of the first of these names that exists.
std::string ValueOf(const GroupVariables& variables, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = variables.find(name); found != variables.end()) return found->second;
  }
  return "";
}

// Converts "gpu[01:16]" to "gpu[01-16]".
std::string OurRange(std::string_view word) {
  std::string range(word);
  bool inside = false;
  for (char& c : range) {
    if (c == '[' || c == ']') inside = c == '[';
    if (inside && c == ':') c = '-';
  }
  return range;
}

// Parses "name=value name2='a b'" from the first blank of `text` on.
GroupVariables ReadVariables(std::string_view text) {
  GroupVariables variables;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return variables;
    const std::string name(text.substr(0, text.find_last_not_of(" \t", equals - 1) + 1));
    text.remove_prefix(equals + 1);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    size_t end = text.find_first_of(" \t");
    if (text.starts_with('"') || text.starts_with('\'')) end = text.find(text[0], 1);
    if (end != std::string_view::npos && !text.empty() && text[end] == text[0]) ++end;
    variables[name] = Unquoted(text.substr(0, end));
    text.remove_prefix(std::min(end, text.size()));
  }
}

constexpr char kNoHosts[] = "it names no machine";
constexpr int kDeepestGroup = 32;

HostCollector::Place PlaceIn(YamlView view) { return {view.line(), 0}; }

uint32_t NumberOf(YamlView view) { return ReadWholeNumber(view.text(), kMaxSlots).value_or(0); }

// Adds a name or an address, without a number of devices.
void AddHost(YamlView view, HostEntry entry, HostCollector& collector) {
  entry.host = view.text();
  if (const Status status = CheckHost(entry.host); !status.ok()) {
    return collector.Report(PlaceIn(view), Message(status));
  }
  if (!entry.user.empty() && !CheckUser(entry.user).ok()) {
    return collector.Report(PlaceIn(view), Message(CheckUser(entry.user)));
  }
  if (const Status status = CheckKeyFile(entry.key_file); !status.ok()) {
    return collector.Report(PlaceIn(view), "the key file " + Message(status));
  }
  collector.Add(std::move(entry), PlaceIn(view));
}

// Adds the devices of one machine of a rank table.
void AddServer(YamlView server, YamlView devices, HostCollector& collector) {
  HostEntry entry;
  devices.ForEach([&](YamlView device) {
    const auto number = ReadWholeNumber(device["device_id"].text(), kMaxSlots - 1);
    if (!number) {
      return collector.Report(PlaceIn(device), "a device without a 'device_id' that is a number");
    }
    if (std::ranges::find(entry.devices, *number) != entry.devices.end()) return;
    entry.devices.push_back(*number);
    if (const auto ip = ReadIpv4(device["device_ip"].text()); ip.ok()) {
      entry.device_ips.push_back(*ip);
    }
  });
  if (entry.device_ips.size() != entry.devices.size()) entry.device_ips.clear();
  entry.slots = static_cast<uint32_t>(entry.devices.size());
  if (entry.devices.empty()) {
    return collector.Report(PlaceIn(server), "a server without devices");
  }
  AddHost(server["server_id"], std::move(entry), collector);
}

void AddGroup(YamlView group, const std::string& name, int depth, Inventory& inventory) {
  if (depth > kDeepestGroup) return;
  Inventory::Variables variables;
  const auto add_to = [](Inventory::Variables& to) {
    return [&to](const std::string& key, YamlView value) { to[key] = value.text(); };
  };
  group["vars"].ForEachEntry(add_to(variables));
  inventory.AddVariables(name, variables);
  group["hosts"].ForEachEntry([&](const std::string& host, YamlView value) {
    Inventory::Variables own;
    value.ForEachEntry(add_to(own));
    inventory.AddHost(name, host, own, {group["hosts"].line(), 0});
  });
  group["children"].ForEachEntry([&](const std::string& child, YamlView value) {
    inventory.AddChild(name, child);
    AddGroup(value, child, depth + 1, inventory);
  });
}

}  // namespace

void Inventory::AddHost(const std::string& group, std::string_view word, const Variables& variables,
                        HostCollector::Place place) {
  std::string name = OurRange(word);
  Variables own = variables;
  const size_t colon = name.rfind(':');
  if (colon != std::string::npos && !base::IpAddress::Parse(name) &&
      name.find(']', colon) == std::string::npos) {
    own.emplace("ansible_port", name.substr(colon + 1));
    name.resize(colon);
  }
  const HostRange range = IsHostRange(name) ? ExpandHostRange(name) : HostRange{{name}, 0, ""};
  if (!range.wrong.empty()) return collector_.Report(place, Quoted(word) + ": " + range.wrong);
  groups_.insert(group);
  for (const std::string& one : range.names) {
    const auto [known, is_new] = index_.emplace(one, hosts_.size());
    if (is_new && hosts_.size() == kMaxHosts) return collector_.Report(place, TooManyHosts());
    if (is_new) hosts_.push_back({one, {}, {}, place});
    Host& host = hosts_[known->second];
    host.variables.insert(own.begin(), own.end());
    host.groups.push_back(group);
  }
}

void Inventory::AddVariables(const std::string& group, const Variables& variables) {
  for (const auto& [name, value] : variables) variables_[group][name] = value;
}

Inventory::Variables Inventory::AllVariables(const Host& host) const {
  Variables all = host.variables;
  std::set<std::string> seen;
  std::vector<std::string> level = host.groups;
  while (!level.empty()) {
    std::vector<std::string> above;
    for (const std::string& group : level) {
      if (group == kEveryGroup || !seen.insert(group).second) continue;
      if (const auto own = variables_.find(group); own != variables_.end()) {
        all.insert(own->second.begin(), own->second.end());
      }
      if (const auto parents = parents_.find(group); parents != parents_.end()) {
        above.insert(above.end(), parents->second.begin(), parents->second.end());
      }
    }
    level = std::move(above);
  }
  if (const auto every = variables_.find(kEveryGroup); every != variables_.end()) {
    all.insert(every->second.begin(), every->second.end());
  }
  return all;
}

void Inventory::AddEntry(const Host& host) {
  const Variables all = AllVariables(host);
  HostEntry entry;
  entry.user = ValueOf(all, {"ansible_user", "ansible_ssh_user"});
  entry.key_file = ValueOf(all, {"ansible_ssh_private_key_file", "ansible_private_key_file"});
  const std::string port = ValueOf(all, {"ansible_port", "ansible_ssh_port"});
  const std::string slots = ValueOf(all, {"gpus", "num_gpus", "slots"});
  const std::string address = ValueOf(all, {"ansible_host", "ansible_ssh_host"});
  if (!address.empty() && address != host.name) entry.note = host.name + " in the inventory";
  if (!entry.user.empty() && !CheckUser(entry.user).ok()) {
    return collector_.Report(host.place,
                             "ansible_user: " + Quoted(entry.user) + " is not a user name");
  }
  if (const Status status = CheckKeyFile(entry.key_file); !status.ok()) {
    return collector_.Report(host.place, "the key file " + Message(status));
  }
  if (!port.empty()) {
    entry.port = collector_.ReadPort(port, host.place);
    if (!entry.port) return;
  }
  if (!slots.empty()) entry.slots = collector_.ReadSlots(slots, host.place);
  for (const char* name : {"ansible_ssh_common_args", "ansible_ssh_extra_args"}) {
    if (all.contains(name))
      unused_[name] = "a jump host is 'proxy_jump' in an ssh group of the spec";
  }
  for (const char* name : {"ansible_password", "ansible_ssh_pass", "ansible_ssh_password"}) {
    if (all.contains(name)) unused_[name] = kNoPassword;
  }
  entry.host = address.empty() ? host.name : address;
  if (!CheckHost(entry.host).ok()) {
    return collector_.Report(host.place, Message(CheckHost(entry.host)));
  }
  collector_.Add(std::move(entry), host.place);
}

HostList Inventory::Take() {
  for (const Host& host : hosts_) AddEntry(host);
  if (groups_.size() > 1) {
    std::vector<std::string> names(groups_.begin(), groups_.end());
    if (names.size() > kMaxGroupsShown) {
      names.resize(kMaxGroupsShown);
      names.emplace_back("…");
    }
    collector_.Warn(collector_.source() +
                    ": an inventory of Ansible: the hosts of all groups are taken: " +
                    absl::StrJoin(names, ", "));
  }
  for (const auto& [name, advice] : unused_) {
    collector_.Warn(collector_.source() + ": " + name + " is not used; " + advice);
  }
  return collector_.Take("an inventory of Ansible without hosts");
}

HostList ParseInventory(const std::vector<HostfileLine>& lines, const std::string& file) {
  Inventory inventory(file);
  std::string group = "ungrouped";
  std::string kind;  // "vars", "children" or ""
  for (const HostfileLine& line : lines) {
    if (IsInventorySection(line.text)) {
      const std::string_view section = line.text.substr(1, line.text.size() - 2);
      const size_t colon = section.find(':');
      group = section.substr(0, colon);
      kind = colon == std::string_view::npos ? "" : section.substr(colon + 1);
    } else if (kind == "children") {
      inventory.AddChild(group, std::string(line.words[0].text));
    } else if (kind == "vars") {
      // The rest of the line is the value, including blanks.
      const size_t equals = line.text.find('=');
      const std::string_view name = line.text.substr(0, equals);
      if (equals == std::string_view::npos) continue;
      std::string_view value = line.text.substr(equals + 1);
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      inventory.AddVariables(group, {{std::string(name.substr(0, name.find_last_not_of(" \t") + 1)),
                                      std::string(Unquoted(value))}});
    } else {
      const std::string_view host = line.words[0].text;
      inventory.AddHost(group, host, ReadVariables(line.text.substr(host.size())),
                        {line.number, line.words[0].column});
    }
  }
  return inventory.Take();
}

HostList HostsOfList(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root.ForEach([&](YamlView host) { collector.AddWord(host.text(), {}, PlaceIn(host)); });
  return collector.Take(kNoHosts);
}

HostList HostsOfNumbers(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root.ForEachEntry([&](const std::string& host, YamlView slots) {
    HostEntry entry;
    entry.slots = collector.ReadSlots(slots.text(), PlaceIn(slots));
    if (*entry.slots > 0) collector.AddWord(host, std::move(entry), PlaceIn(slots));
  });
  return collector.Take(kNoHosts);
}

HostList HostsOfAccelerate(YamlView root, const std::string& file) {
  HostCollector collector(file);
  HostEntry entry;
  entry.host = "localhost";
  const std::string ids = root["gpu_ids"].text();
  for (const std::string_view id : base::Split(ids, ',')) {
    const size_t begin = std::min(id.find_first_not_of(' '), id.size());
    if (const auto number = ReadWholeNumber(id.substr(begin), kMaxSlots - 1)) {
      entry.devices.push_back(*number);
    }
  }
  const uint32_t processes = NumberOf(root["num_processes"]);
  if (processes > 0 && processes < entry.devices.size()) entry.devices.resize(processes);
  if (processes > 0) entry.slots = processes;
  collector.Add(std::move(entry), {1, 1});
  return collector.Take(kNoHosts);
}

HostList HostsOfRay(YamlView root, const std::string& file) {
  HostCollector collector(file);
  HostEntry login;
  login.user = root["auth"]["ssh_user"].text();
  login.key_file = root["auth"]["ssh_private_key"].text();
  const YamlView provider = root["provider"];
  AddHost(provider["head_ip"], login, collector);
  provider["worker_ips"].ForEach([&](YamlView ip) { AddHost(ip, login, collector); });
  return collector.Take(kNoHosts);
}

HostList HostsOfSkyPools(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root.ForEachEntry([&](const std::string&, YamlView pool) {
    pool["hosts"].ForEach([&](YamlView host) {
      HostEntry entry;
      const auto either = [&](const char* key) {
        return (host.Has(key) ? host : pool)[key].text();
      };
      entry.user = either("user");
      entry.key_file = either("identity_file");
      AddHost(host.IsMapping() ? host["ip"] : host, std::move(entry), collector);
    });
  });
  return collector.Take(kNoHosts);
}

HostList HostsOfRankTable(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root["server_list"].ForEach(
      [&](YamlView server) { AddServer(server, server["device"], collector); });
  root["group_list"].ForEach([&](YamlView group) {
    group["instance_list"].ForEach(
        [&](YamlView instance) { AddServer(instance, instance["devices"], collector); });
  });
  return collector.Take(kNoHosts);
}

HostList HostsOfTfConfig(YamlView root, const std::string& file) {
  HostCollector collector(file);
  for (const char* kind : {"chief", "worker"}) {
    root["cluster"][kind].ForEach([&](YamlView host) {
      const std::string text = host.text();
      const size_t colon = text.rfind(':');
      HostEntry entry;
      entry.slots = 1;
      entry.counted = true;
      collector.AddWord(std::string_view(text).substr(0, colon), std::move(entry), PlaceIn(host));
    });
  }
  collector.Warn(file +
                 ": its ports are TensorFlow's and are not used; parameter servers are left out");
  return collector.Take(kNoHosts);
}

HostList HostsOfInventory(YamlView root, const std::string& file) {
  Inventory inventory(file);
  root.ForEachEntry(
      [&](const std::string& name, YamlView group) { AddGroup(group, name, 0, inventory); });
  return inventory.Take();
}

}  // namespace autodist::spec
