// What is said of nodes that have been prepared, or could not be.
#pragma once

#include <string>
#include <vector>

#include "chief/attempt/attempt.h"
#include "launch/launcher.h"

namespace autodist::chief {

// All nodes on which the launch failed, with cause and remedy, of equal ones once; "" if there is
// none. `synced`: the working directory had been copied to them.
std::string LaunchReport(const v1::LaunchPlan& plan, const std::vector<launch::LaunchedNode>& nodes,
                         bool synced);

// 126 or 127 if all that is wrong is the command, else 125; 0 if nothing is wrong.
int LaunchExitCode(const std::vector<launch::LaunchedNode>& nodes);

// "node1, node2 and 7 others: the disk is nearly full": each warning once.
std::vector<std::string> WarningsOf(const Attempt& attempt,
                                    const std::vector<launch::LaunchedNode>& nodes);

// Devices of the attempt that others have; "": they are free.
std::string BusyDevices(const Attempt& attempt, const std::vector<launch::LaunchedNode>& nodes);

}  // namespace autodist::chief
