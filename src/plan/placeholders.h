// What stands in braces in the program's arguments: {rank}, {master_addr}, ...
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// `argument` with the values of this process in place of their names. "{{rank}}" is "{rank}", and
// whatever else stands in braces stays as it is. kInvalidArgument: the name has no value for a
// program of this kind.
Result<std::string> FillIn(const std::string& argument, const v1::LaunchPlan& plan,
                           const v1::NodePlan& node, const v1::RankPlan& rank);

}  // namespace autodist::plan
