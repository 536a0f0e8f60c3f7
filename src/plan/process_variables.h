// The variables of a process in addition to the environment of the node: the identity of
// the process, in autodist's variables and in those of the frameworks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"

namespace autodist::plan {

using Frameworks = std::vector<const framework::Framework*>;
// The framework that added each auxiliary process.
using OwnerOf = std::map<uint32_t, const framework::Framework*>;

// Returns "framework 'torch'".
std::string FrameworkCalled(const framework::Framework& framework);

// Sets them in all processes of an otherwise complete plan. Fails if a list would be too long for
// any program's environment.
Status SetProcessVariables(const Frameworks& frameworks, const OwnerOf& owner,
                           v1::LaunchPlan& plan);

}  // namespace autodist::plan
