// Agents on all nodes for a look, without ranks.
#pragma once

#include <vector>

#include "chief/loop/loop.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Each node as it turned out, by its rank. Blocks until all have, in bounded time.
std::vector<launch::LaunchedNode> LaunchAll(launch::Launcher& launcher, size_t count, Loop& loop);

// Tells the agents to go, and waits until they have, for seconds at most.
void EndAgents(std::vector<launch::LaunchedNode>& nodes, const Loop& loop);

}  // namespace autodist::chief
