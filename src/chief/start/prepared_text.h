// What is said of nodes that have been prepared.
#pragma once

#include <string>
#include <vector>

#include "chief/attempt/attempt.h"
#include "launch/launcher.h"

namespace autodist::chief {

// "node1, node2 and 7 others: the disk is nearly full": each warning once.
std::vector<std::string> WarningsOf(const Attempt& attempt,
                                    const std::vector<launch::LaunchedNode>& nodes);

// Devices of the attempt that others have; "": they are free.
std::string BusyDevices(const Attempt& attempt, const std::vector<launch::LaunchedNode>& nodes);

}  // namespace autodist::chief
