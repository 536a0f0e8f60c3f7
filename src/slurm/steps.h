// Connects to the nodes of a Slurm allocation; a task of a step on each of them connects back.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "autodist/v1/plan.pb.h"
#include "reach/connector.h"

namespace autodist::slurm {

// Creates everything that this process needs to reach the plan's nodes:
// reach::ConnectorFactory::For, plus the nodes of the allocation. The first connection to one of
// them starts one step on all of them, with the agent at `agent_path` (see NodeProgram), which is
// uploaded if it is missing. If this process is unreachable, a node retries for somewhat longer
// than the lease.
//
// The destructor ends the steps, which takes some seconds at most.
std::shared_ptr<reach::Connector> ConnectorFor(const v1::LaunchPlan& plan,
                                               const std::string& agent_path,
                                               std::chrono::milliseconds lease);

}  // namespace autodist::slurm
