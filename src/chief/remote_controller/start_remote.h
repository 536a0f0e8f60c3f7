// Starts the chief of a run on a node, from a machine that is not a node and may disconnect.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"
#include "launch/launch_options.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

// Returns the node of the plan that a user means by "first" or an address; fails if it cannot run
// the chief.
Result<std::string> NodeForChief(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                                 const std::string& wanted);

// `chief`: a node of the plan, by its address. Prepares all nodes, asks them for their addresses,
// copies this program to the chief's node and starts it there; shows its messages until the ranks
// run. Sends no private keys. Returns the exit code. Blocks until the ranks run, or the start
// failed. Call it before any other thread is started.
int StartRemote(const plan::Input& input, const v1::LaunchPlan& plan,
                const launch::LaunchOptions& options, const std::string& chief);

}  // namespace autodist::chief
