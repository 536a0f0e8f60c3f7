// Reads the machines in files of other programs; each reader gets the root of a YAML or JSON file.
//
// Pure functions. Aliases can make a small file expand to a large one; all readers stop at
// kMaxHosts.
#pragma once

#include <string>

#include "spec/host_list.h"
#include "spec/yaml_view.h"

namespace autodist::spec {

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
