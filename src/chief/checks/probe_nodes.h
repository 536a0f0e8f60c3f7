// Agents on all nodes for a look, without ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "launch/launcher.h"

namespace autodist::chief {

// Each node as it turned out, by its rank. Blocks until all have, in bounded time.
std::vector<launch::LaunchedNode> LaunchAll(launch::Launcher& launcher, size_t count);

// Tells the agents to go, and waits until they have, for seconds at most.
void EndAgents(std::vector<launch::LaunchedNode>& nodes);

}  // namespace autodist::chief
