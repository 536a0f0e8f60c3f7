// Placeholders in the program's arguments: {rank}, {master_addr}, ...
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// Replaces the placeholders in `argument` with the values of this process. "{{rank}}" becomes
// "{rank}", and other text in braces is unchanged. kInvalidArgument: the placeholder has no value
// for this kind of program.
Result<std::string> FillIn(const std::string& argument, const v1::LaunchPlan& plan,
                           const v1::NodePlan& node, const v1::RankPlan& rank);

}  // namespace autodist::plan
