// A spec as it is on the node to which the chief moves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/checks/reported_addresses.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

using HostKeys = std::map<std::string, std::vector<std::string>>;  // by the address of the spec

// There `chief` is the chief, and all else is as the plan, made from outside, has it: who logs in,
// what ranks find. The others are reached by their addresses between ranks, without jump hosts, and
// show the host keys that are known here, if any are.
spec::ResourceSpec RewriteSpec(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                               const std::string& chief, const DataAddresses& reported,
                               const HostKeys& host_keys);

// Leaves out key files that are not there or not readable, of the home folder's, say: the node's
// own keys are tried then.
void UseKeysOfThisMachine(spec::ResourceSpec& spec);

}  // namespace autodist::chief
