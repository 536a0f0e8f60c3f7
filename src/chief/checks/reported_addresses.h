// The addresses at which ranks reach each other, as reported by the nodes because the chief is not
// one of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"

namespace autodist::chief {

using DataAddresses = std::map<std::string, std::string>;  // by the address in the spec

// Returns the reported addresses of the nodes that were asked; omits invalid addresses.
DataAddresses ReportedAddresses(const v1::LaunchPlan& plan,
                                const std::vector<launch::LaunchedNode>& nodes);

// Checks that each node that was asked reported an address, and that no two are the same, except
// for the nodes `without`, by rank.
Status CheckReportedAddresses(const v1::LaunchPlan& plan, const DataAddresses& reported,
                              const std::set<uint32_t>& without = {});

// Returns whether they differ from the plan's addresses.
bool Differ(const v1::LaunchPlan& plan, const DataAddresses& reported);

}  // namespace autodist::chief
