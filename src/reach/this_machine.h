// The user who runs autodist, and their machine.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"

namespace autodist::reach {

Result<plan::User> ThisUser();

// Returns the working directory for other machines: relative to the home folder, "~/train", or
// absolute outside of it.
std::string BelowHome(const plan::User& user);

// Whether this machine is one of the nodes.
bool TakesPart(const v1::LaunchPlan& plan);

// Returns the program's folder on this machine: the plan's working directory if this machine has
// ranks, else the folder in which autodist was started.
std::string FolderHere(const v1::LaunchPlan& plan);

}  // namespace autodist::reach
