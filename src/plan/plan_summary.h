// A plan in about ten lines, as `run --dry-run` prints it.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// A table of the nodes, of many only the first ones and the last, and what is started. It has no
// values that are given for the environment.
std::string PlanSummary(const v1::LaunchPlan& plan);

}  // namespace autodist::plan
