// The variables and arguments of a rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

// The variables that do not depend on the framework: AUTODIST_*, the GPUs of the node, and the
// interface between nodes.

// Whether a variable can hold the addresses of all nodes.
bool FitsAddresses(const std::string& addresses);

// The nodes of the plan, with their devices, are complete. `addresses` are those of all nodes, or a
// placeholder for them; empty: no variable has them.
void SetRankEnvironment(const framework::Process& process, const std::string& addresses,
                        const framework::SetVariable& set);

// Adds the steps to a node's environment; frameworks append theirs.
void SetNodeEnvironment(const Input& input, spec::Node node, v1::NodePlan& planned);

// Sets NCCL's log level in all ranks, whatever their nodes' environment says. "INFO" and "TRACE" go
// to stderr, because stdout has the results of programs; the few lines of "VERSION" and "WARN" go
// where NCCL writes them.
void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan);

// Linux's limit for a variable: MAX_ARG_STRLEN, without "=" and the final 0.
inline constexpr size_t kMaxVariableLength = 131'072 - 2;  // name and value, in bytes

// The variables of a process in addition to the environment of the node: the identity of
// the process, in autodist's variables and in those of the frameworks.

using Frameworks = std::vector<const framework::Framework*>;
// The framework that added each auxiliary process.
using OwnerOf = std::map<uint32_t, const framework::Framework*>;

// Returns "framework 'torch'".
std::string FrameworkCalled(const framework::Framework& framework);

// Sets them in all processes of an otherwise complete plan. Fails if a list would be too long for
// any program's environment.
Status SetProcessVariables(const Frameworks& frameworks, const OwnerOf& owner,
                           v1::LaunchPlan& plan);

// Replaces placeholders in an argument of the program, {rank}, {master_addr} and so on, with the
// values of this process. "{{rank}}" becomes
// "{rank}", and other text in braces is unchanged. kInvalidArgument: the placeholder has no value
// for this kind of program.
Result<std::string> FillIn(const std::string& argument, const v1::LaunchPlan& plan,
                           const v1::NodePlan& node, const v1::RankPlan& rank);

}  // namespace autodist::plan
