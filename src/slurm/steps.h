// In a Slurm allocation: what it takes to reach its nodes, each by the call of a task of a step.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "autodist/v1/plan.pb.h"
#include "reach/connector.h"

namespace autodist::slurm {

// All that this process needs to reach the plan's nodes, reach::ConnectorFactory::For with the
// allocation's as well: once the first of them is to be reached, one step is started on all of
// them, with the agent at `agent_path` (as of NodeProgram), which is sent where it is missing. A
// node calls again for some time longer than the lease when we are away.
//
// Its destructor ends the steps, which takes some seconds at most.
std::shared_ptr<reach::Connector> ConnectorFor(const v1::LaunchPlan& plan,
                                               const std::string& agent_path,
                                               std::chrono::milliseconds lease);

}  // namespace autodist::slurm
