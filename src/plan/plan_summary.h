// A plan in about ten lines, as `run --dry-run` prints it.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// Formats a table of the nodes, with only the first ones and the last if there are many, and the
// command. Contains no values that were given for the environment.
std::string PlanSummary(const v1::LaunchPlan& plan);

}  // namespace autodist::plan
