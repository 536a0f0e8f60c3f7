// Starts agents on all nodes for checks, without ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "launch/launcher.h"

namespace autodist::chief {

// Returns the result for each node, by rank. Blocks until all have one, in bounded time.
std::vector<launch::LaunchedNode> LaunchAll(launch::Launcher& launcher, size_t count);

// Asks the agents to leave, and waits for that, for seconds at most.
void EndAgents(std::vector<launch::LaunchedNode>& nodes);

}  // namespace autodist::chief
