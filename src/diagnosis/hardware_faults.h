// The faults of a node's hardware that matter to a job. Pure logic.
#pragma once

#include <vector>

#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/facts.pb.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::diagnosis {

// Whether the plan uses what is faulty: the GPU, enough GPUs, or else the node. A GPU of which it
// is unknown whether it is one of the plan's does not count. `facts`: of the node.
bool Concerns(const v1::NodePlan& node, const v1::HardwareFault& fault,
              const v1::NodeInfo& facts = {});

// Returns the faults among the facts that concern the plan.
std::vector<v1::HardwareFault> FaultsThatConcern(const v1::NodePlan& node,
                                                 const v1::NodeInfo& facts);

// Returns what a fault means with --health: BAD: the node cannot be used; UNSPECIFIED: nothing.
v1::CheckResult ResultOf(const v1::HardwareFault& fault, v1::Health health);

}  // namespace autodist::diagnosis
