// Checks a whole spec: at most one chief, all named ssh groups exist, no two nodes have the same
// address, and there is at least one rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/issue.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// The positions of a node's values; for missing ones that of the node itself.
struct NodePositions {
  Position address;
  Position ssh_config;
  Position data_address;
  Position device_ips;
  Position chief;
  Position ssh_address;
  Position host_keys;
};

using ReportIssue = std::function<void(Position where, const std::string& what)>;

// Reports all issues between the parts of a spec that has been read; an invalid address is empty.
// `nodes` is in the order of spec.nodes; nodes of a range have the same position.
void CheckWhole(const ResourceSpec& spec, const std::vector<NodePositions>& nodes,
                Position nodes_list, const ReportIssue& report);

}  // namespace autodist::spec
