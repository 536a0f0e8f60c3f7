// What the user is told when nodes cannot run a job.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"

namespace autodist::chief {

// All nodes on which the launch failed, each with cause and remedy; "" if there is none.
std::string LaunchReport(const v1::LaunchPlan& plan,
                         const std::vector<launch::LaunchedNode>& nodes);

// 126 or 127 if all that is wrong is the command, else 125; 0 if nothing is wrong.
int LaunchExitCode(const std::vector<launch::LaunchedNode>& nodes);

}  // namespace autodist::chief
