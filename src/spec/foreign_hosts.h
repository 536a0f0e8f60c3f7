// The machines that files of other programs name: each reader takes the root of its YAML, or JSON.
//
// Pure functions. Aliases can make a small file stand for a large one; all readers end at
// kMaxHosts.
#pragma once

#include <string>

#include "spec/host_list.h"
#include "spec/yaml_view.h"

namespace autodist::spec {

// "[gpu1, ann@gpu2:4]", and "{gpu1: 4, gpu2: 4}".
HostList HostsOfList(YamlView root, const std::string& file);
HostList HostsOfNumbers(YamlView root, const std::string& file);
// An accelerate config of one machine.
HostList HostsOfAccelerate(YamlView root, const std::string& file);
// With the addresses of its own machines (provider: type: local).
HostList HostsOfRay(YamlView root, const std::string& file);
// ~/.sky/ssh_node_pools.yaml.
HostList HostsOfSkyPools(YamlView root, const std::string& file);
// Of HCCL, with server_list or group_list.
HostList HostsOfRankTable(YamlView root, const std::string& file);
// $TF_CONFIG; the ports are not SSH's.
HostList HostsOfTfConfig(YamlView root, const std::string& file);
HostList HostsOfInventory(YamlView root, const std::string& file);

}  // namespace autodist::spec
