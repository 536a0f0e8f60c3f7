// The variables that a rank finds whatever it is written with: AUTODIST_*, its node's GPUs, the
// interface between nodes. What its framework reads besides is the dialects'.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// The nodes of `plan`, with their devices, are complete; `addresses` are those of all of them, made
// once.
void SetRankEnvironment(const v1::LaunchPlan& plan, const std::string& addresses,
                        const v1::NodePlan& node, v1::RankPlan& rank);

// The steps to the environment that all processes of a node have; dialects add theirs at the end.
void SetNodeEnvironment(const Input& input, const spec::Node& node, v1::NodePlan& planned);

// Has NCCL log at `level` in all ranks, whatever their nodes' environment says: "INFO" and "TRACE"
// to stderr, as programs' results are on stdout; "VERSION" and "WARN", a few lines, where NCCL has
// them.
void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan);

// A long value that all processes of a node share, a list of all nodes say, becomes a last step of
// the node's environment: in a large plan every process having its own would be too much.
void ShareLongValues(v1::NodePlan& node);

// Linux lets no variable be longer: MAX_ARG_STRLEN, of which "=" and a last 0 take two bytes.
inline constexpr size_t kLongestVariable = 131'072 - 2;  // name and value, in bytes

}  // namespace autodist::plan
