// The variables that a rank finds whatever it is written with: AUTODIST_*, its node's GPUs, the
// interface between nodes. What its framework reads besides is the frameworks'.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// Whether a variable can have the addresses of all nodes.
bool FitsAddresses(const std::string& addresses);

// The nodes of the plan, with their devices, are complete; `addresses` are those of all of them,
// or what stands for them; empty: no variable has them.
void SetRankEnvironment(const framework::Process& process, const std::string& addresses,
                        const framework::SetVariable& set);

// The steps to the environment that all processes of a node have; frameworks add theirs at the end.
void SetNodeEnvironment(const Input& input, const spec::Node& node, v1::NodePlan& planned);

// Has NCCL log at `level` in all ranks, whatever their nodes' environment says: "INFO" and "TRACE"
// to stderr, as programs' results are on stdout; "VERSION" and "WARN", a few lines, where NCCL has
// them.
void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan);

// Linux lets no variable be longer: MAX_ARG_STRLEN, of which "=" and a last 0 take two bytes.
inline constexpr size_t kMaxVariableLength = 131'072 - 2;  // name and value, in bytes

}  // namespace autodist::plan
