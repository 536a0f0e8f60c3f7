// The faults of a node's hardware that matter to a plan. Pure logic.
#pragma once

#include <vector>

#include "autodist/v1/facts.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::diagnosis {

// Returns the faults among the facts, without those of GPUs that the plan does not use.
std::vector<v1::HardwareFault> FaultsThatConcern(const v1::NodePlan& node,
                                                 const v1::NodeInfo& facts);

}  // namespace autodist::diagnosis
