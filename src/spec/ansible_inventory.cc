#include "spec/ansible_inventory.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "base/ip_address.h"
#include "spec/address.h"
#include "spec/host_range.h"
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

std::string Unquoted(std::string_view value) {
  const bool quoted =
      value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  return std::string(quoted ? value.substr(1, value.size() - 2) : value);
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
  if (entry.key_file.find('\0') != std::string::npos) {
    return collector_.Report(host.place, "the name of a key file with a zero byte");
  }
  if (!port.empty()) {
    entry.port = collector_.ReadPort(port, host.place);
    if (!entry.port) return;
  }
  if (!slots.empty()) entry.slots = collector_.ReadSlots(slots, host.place);
  for (const char* name : {"ansible_ssh_common_args", "ansible_ssh_extra_args"}) {
    if (all.contains(name)) unused_.insert(name);
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
  for (const std::string& name : unused_) {
    collector_.Warn(collector_.source() + ": " + name +
                    " is not used; a jump host is 'proxy_jump' in an ssh group of the spec");
  }
  return collector_.Take("an inventory of Ansible without hosts");
}

HostList ParseInventory(const std::vector<HostfileLine>& lines, const std::string& file) {
  Inventory inventory(file);
  std::string group = "ungrouped";
  std::string kind;  // "vars", "children" or ""
  for (const HostfileLine& line : lines) {
    if (line.text.starts_with(';')) continue;
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
                                      Unquoted(value)}});
    } else {
      const std::string_view host = line.words[0].text;
      inventory.AddHost(group, host, ReadVariables(line.text.substr(host.size())),
                        {line.number, line.words[0].column});
    }
  }
  return inventory.Take();
}

}  // namespace autodist::spec
