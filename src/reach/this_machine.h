// The user who runs autodist, and the machine they sit at.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"

namespace autodist::reach {

Result<plan::User> ThisUser();

// What the working directory is called on other machines, where it is the same path below the home
// folder: "~/train". Absolute where it is not below it.
std::string BelowHome(const plan::User& user);

// Whether this machine is one of the nodes.
bool TakesPart(const v1::LaunchPlan& plan);

// Where the program is on this machine: in the plan's working directory if this machine takes part,
// else where autodist was started.
std::string FolderHere(const v1::LaunchPlan& plan);

}  // namespace autodist::reach
