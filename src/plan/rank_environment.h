// The variables that a rank finds whatever it is written with: AUTODIST_*, its node's GPUs, the
// interface between nodes. What its framework reads besides is the dialects'.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// The nodes of `plan`, with their devices, are complete.
void SetRankEnvironment(const v1::LaunchPlan& plan, const v1::NodePlan& node, v1::RankPlan& rank);

// What concerns all processes of a node: removed, defaulted and interface variables.
void SetNodeEnvironment(v1::ProgramKind kind, v1::NodePlan& node);

// Has NCCL log at `level` in all ranks, whatever their nodes' environment says: "INFO" and "TRACE"
// to stderr, as programs' results are on stdout; "VERSION" and "WARN", a few lines, where NCCL has
// them.
void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan);

}  // namespace autodist::plan
