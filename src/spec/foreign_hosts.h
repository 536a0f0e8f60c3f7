// Reads the machines in files of other programs; each reader gets the root of a YAML or JSON file.
//
// Pure functions. Aliases can make a small file expand to a large one; all readers stop at
// kMaxHosts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spec/host_list.h"
#include "spec/hostfile_form.h"
#include "spec/yaml_tree.h"

namespace autodist::spec {

// The hosts of an Ansible inventory, with their login settings: collects hosts, groups and
// variables from both forms of an inventory. Not thread-safe.
class Inventory {
 public:
  explicit Inventory(std::string file) : collector_(std::move(file)) {}

  using Variables = std::map<std::string, std::string, std::less<>>;

  // The host may be a range, "gpu[01:16]", and have a port, "gpu1:2222".
  void AddHost(const std::string& group, std::string_view word, const Variables& variables,
               HostCollector::Place place);
  void AddVariables(const std::string& group, const Variables& variables);
  void AddChild(const std::string& group, const std::string& child) {
    parents_[child].insert(group);
  }
  HostCollector& collector() { return collector_; }

  HostList Take();

 private:
  struct Host {
    std::string name;
    Variables variables;
    std::vector<std::string> groups;
    HostCollector::Place place;
  };

  // Returns the host's variables, then those of the groups that contain it, the innermost first.
  Variables AllVariables(const Host& host) const;
  void AddEntry(const Host& host);

  HostCollector collector_;
  std::vector<Host> hosts_;
  std::map<std::string, size_t> index_;
  std::map<std::string, Variables> variables_;            // by group
  std::map<std::string, std::set<std::string>> parents_;  // by group
  std::set<std::string> groups_;                          // groups with hosts
  std::map<std::string, std::string> unused_;             // names of variables, with advice
};

// Parses the INI form.
HostList ParseInventory(const std::vector<HostfileLine>& lines, const std::string& file);

// Reads "[gpu1, ann@gpu2:4]" and "{gpu1: 4, gpu2: 4}".
HostList HostsOfList(YamlView root, const std::string& file);
HostList HostsOfNumbers(YamlView root, const std::string& file);
// For an accelerate config of one machine.
HostList HostsOfAccelerate(YamlView root, const std::string& file);
// For a Ray config with addresses of existing machines (provider: type: local).
HostList HostsOfRay(YamlView root, const std::string& file);
// ~/.sky/ssh_node_pools.yaml.
HostList HostsOfSkyPools(YamlView root, const std::string& file);
// For a rank table of HCCL, with server_list or group_list.
HostList HostsOfRankTable(YamlView root, const std::string& file);
// For $TF_CONFIG, whose ports are not SSH's.
HostList HostsOfTfConfig(YamlView root, const std::string& file);
HostList HostsOfInventory(YamlView root, const std::string& file);

}  // namespace autodist::spec
