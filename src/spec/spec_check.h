// Checks of a spec as a whole: that it has one chief at most, that the ssh groups which nodes name
// exist, that no two nodes have the same address, and that there is a rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/issue.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// Where a node's values stand; that of the node itself for what it does not have.
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

// Reports everything that is wrong between the parts of a spec, each of which has been read; an
// address that was not understood is empty. `nodes` is in the order of spec.nodes; those of a range
// have one place.
void CheckWhole(const ResourceSpec& spec, const std::vector<NodePositions>& nodes,
                Position nodes_list, const ReportIssue& report);

}  // namespace autodist::spec
