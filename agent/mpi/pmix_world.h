// How a world of MPI ranks is described to the PMIx server of a node.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// Whether each rank from 0 on is on one node, and those of `node` are the plan's.
Status CheckPmixWorld(const v1::PmixWorld& world, const v1::NodePlan& node);

uint32_t PmixWorldSize(const v1::PmixWorld& world);  // ranks

// Has the server, which runs, know the world, and adds the variables by which the ranks of `node`
// find it to each one's environment. Makes each of these ranks a folder of its own in `folder`,
// which is in the server's.
Status RegisterPmixWorld(const v1::PmixWorld& world, v1::NodePlan& node, const std::string& folder);

}  // namespace autodist::agent
