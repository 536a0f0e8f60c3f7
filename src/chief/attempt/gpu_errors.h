// What the errors of GPUs say about the failure of a rank. Pure logic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "autodist/v1/session.pb.h"
#include "chief/attempt/cause.h"

namespace autodist::chief {

// An error of a GPU that the job uses.
struct NodeGpuError {
  uint32_t node_rank = 0;
  v1::GpuError error;
};

// Whether the error is of what the plan uses on the node.
bool Concerns(const v1::NodePlan& node, const v1::GpuError& error);

// Returns the first error after which the GPU cannot be trusted, if it may be why the attempt
// failed: a rank failed or hung, and nothing from outside ended the job. nullptr: none.
const NodeGpuError* FaultyGpuBehind(const Cause& cause, const std::vector<NodeGpuError>& errors);

// Returns the first error of the rank's GPU; nullptr: none, or the GPU is unknown.
const NodeGpuError* ErrorOfRank(const std::vector<NodeGpuError>& errors, const v1::LaunchPlan& plan,
                                uint32_t node_rank, uint32_t rank);

// "GPU 1 of rank 5 on host3 fell off the bus (XID 79)", for a node of the plan.
std::string Describe(const NodeGpuError& error, const v1::LaunchPlan& plan);

// "restart the node; ..."; "": nothing helps.
std::string RemedyOf(const NodeGpuError& error);

}  // namespace autodist::chief
