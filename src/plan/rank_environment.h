// The variables of a rank that do not depend on the framework: AUTODIST_*, the GPUs of the node,
// and the interface between nodes.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// Whether a variable can hold the addresses of all nodes.
bool FitsAddresses(const std::string& addresses);

// The nodes of the plan, with their devices, are complete. `addresses` are those of all nodes, or a
// placeholder for them; empty: no variable has them.
void SetRankEnvironment(const framework::Process& process, const std::string& addresses,
                        const framework::SetVariable& set);

// Adds the steps to a node's environment; frameworks append theirs.
void SetNodeEnvironment(const Input& input, const spec::Node& node, v1::NodePlan& planned);

// Sets NCCL's log level in all ranks, whatever their nodes' environment says. "INFO" and "TRACE" go
// to stderr, because stdout has the results of programs; the few lines of "VERSION" and "WARN" go
// where NCCL writes them.
void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan);

// Linux's limit for a variable: MAX_ARG_STRLEN, without "=" and the final 0.
inline constexpr size_t kMaxVariableLength = 131'072 - 2;  // name and value, in bytes

}  // namespace autodist::plan
