// Under which addresses the nodes' ranks reach each other, where the nodes are asked because the
// chief takes no part.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"

namespace autodist::chief {

using DataAddresses = std::map<std::string, std::string>;  // by the address that the spec gives

// Of the nodes that were asked; what a node told that is no address is left out.
DataAddresses ReportedAddresses(const v1::LaunchPlan& plan,
                                const std::vector<launch::LaunchedNode>& nodes);

// That each node that was asked has told one, and no two the same.
Status CheckReportedAddresses(const v1::LaunchPlan& plan, const DataAddresses& reported);

// Whether these are other addresses than the plan has.
bool Differ(const v1::LaunchPlan& plan, const DataAddresses& reported);

}  // namespace autodist::chief
