// The variables that a rank finds whatever it is written with: AUTODIST_*, its node's GPUs, the
// interface between nodes. What its framework reads besides is the dialects'.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// The nodes of `plan`, with their devices, are complete.
void SetRankEnvironment(const v1::LaunchPlan& plan, const v1::NodePlan& node, v1::RankPlan& rank);

// The steps to the environment that all processes of a node have; dialects add theirs at the end.
void SetNodeEnvironment(const Input& input, const spec::Node& node, v1::NodePlan& planned);

// Has NCCL log at `level` in all ranks, whatever their nodes' environment says: "INFO" and "TRACE"
// to stderr, as programs' results are on stdout; "VERSION" and "WARN", a few lines, where NCCL has
// them.
void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan);

}  // namespace autodist::plan
