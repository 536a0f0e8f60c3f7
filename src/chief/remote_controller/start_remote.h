// Starts the chief of a run on one of its nodes: from a machine that takes no part, and may go.
#pragma once

#include <string>

#include "autodist/v1/plan.pb.h"
#include "launch/launch_options.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

// The node of the plan that a user means by "first" or an address; fails where that cannot have the
// chief.
Result<std::string> NodeForChief(const spec::ResourceSpec& spec, const v1::LaunchPlan& plan,
                                 const std::string& wanted);

// `chief`: a node of the plan, by its address. Makes all nodes ready, asks them for their
// addresses, and brings this program to the chief's node, where it is started; what it says until
// the ranks run is said here. No private key goes there. Returns the exit code. Blocks until the
// ranks run, or will not. Call it before any other thread is started.
int StartRemote(const plan::Input& input, const v1::LaunchPlan& plan,
                const launch::LaunchOptions& options, const std::string& chief);

}  // namespace autodist::chief
