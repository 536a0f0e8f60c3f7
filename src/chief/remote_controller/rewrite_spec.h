// Rewrites a spec for the node to which the chief moves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/checks/reported_addresses.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

using HostKeys = std::map<std::string, std::vector<std::string>>;  // by the address in the spec

// Makes node `chief` the chief; users and variables of ranks stay as in the plan, which was made
// outside. Other nodes are reached by their addresses between ranks, without jump hosts, and must
// show the host keys that are known here, if any.
spec::ResourceSpec RewriteSpec(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                               const std::string& chief, const DataAddresses& reported,
                               const HostKeys& host_keys);

// Removes key files that do not exist or are not readable here, for example in the home folder: the
// node's own keys are tried instead.
void UseKeysOfThisMachine(spec::ResourceSpec& spec);

}  // namespace autodist::chief
