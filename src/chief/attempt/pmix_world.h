// The ranks of an attempt as PMIx sees them.
#pragma once

#include <optional>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

// None where the plan asks for none. Its name is a new one each time: PMIx takes whoever knows it
// for a rank.
std::optional<v1::PmixWorld> MakePmixWorld(const v1::LaunchPlan& plan);

}  // namespace autodist::chief
