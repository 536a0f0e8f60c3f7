// What a process finds besides the environment that all processes of its node have: who it is, as
// autodist tells every program, and as its frameworks do.
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
// Which framework has added which auxiliary process.
using OwnerOf = std::map<uint32_t, const framework::Framework*>;

// "framework 'torch'"
std::string FrameworkCalled(const framework::Framework& framework);

// Of all processes of a plan that is complete but for that. Refuses lists that would be too long to
// start any program with.
Status SetProcessVariables(const Frameworks& frameworks, const OwnerOf& owner,
                           v1::LaunchPlan& plan);

}  // namespace autodist::plan
