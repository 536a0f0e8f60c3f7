// Describes a world of MPI ranks to the PMIx server of a node.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// Checks that each rank from 0 on is on exactly one node, and that those of `node` match the plan.
Status CheckPmixWorld(const v1::PmixWorld& world, const v1::NodePlan& node);

uint32_t PmixWorldSize(const v1::PmixWorld& world);  // number of ranks

// Registers the world with the running server, and adds the necessary variables to the environment
// of each rank of `node`. Creates a folder for each of these ranks in `folder`, which is inside the
// server's.
Status RegisterPmixWorld(const v1::PmixWorld& world, v1::NodePlan& node, const std::string& folder);

}  // namespace autodist::agent
