// Checks everything that a run needs, on all nodes at the same time, without starting ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/plan.pb.h"
#include "files/file_tree.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Starts agents on all nodes for checks, without ranks. Calls `visit`, if not empty, for each node,
// on threads of the launcher. Returns the results by rank. Blocks for them, in bounded time.
std::vector<launch::LaunchedNode> LaunchAll(
    launch::Launcher& launcher, size_t count,
    const std::function<void(launch::LaunchedNode& node)>& visit = {});

// Asks the agents to leave, and waits for that, for seconds at most.
void EndAgents(std::vector<launch::LaunchedNode>& nodes);

// Starts agents on all nodes without preparing anything there, calls `visit` for each node as
// LaunchAll does, and ends the agents. Call it before any other thread is started. kCancelled: by
// Ctrl-C, which `stop` reports to `visit`.
Status VisitAllNodes(
    const v1::LaunchPlan& plan, launch::LaunchOptions options,
    const std::function<void(launch::LaunchedNode& node, const std::stop_token& stop)>& visit);

// Up to this many nodes, each tries all others; more would need tens of thousands of connections.
inline constexpr uint32_t kLargestFullMesh = 64;

// Returns the nodes that `node`, one of `nodes`, tries to connect to, in order. `full`: all others.
// Otherwise its neighbours in a ring, the nodes at each power of two along it, so that each is
// tried as often as it tries others, and the first node, where all ranks meet.
std::vector<uint32_t> MeshTargets(uint32_t node, uint32_t nodes, bool full);

struct ProbeOptions {
  bool full_mesh = false;  // each node tries to connect to all others, however many there are
  const files::FileTree* synced = nullptr;  // what --sync would copy; null: nothing
  std::map<std::string, Status> uncounted;  // why nodes could not count their devices, by address
};

// Blocks for seconds, until every node has been checked or given up and every agent has ended. Call
// it before any other thread is started. kCancelled: by Ctrl-C.
Result<v1::Diagnosis> ProbeNodes(v1::LaunchPlan plan, launch::LaunchOptions options,
                                 const ProbeOptions& probe);

// Checks that the folder exists and is writable with room, or could be created.
Status CheckFolderForLogs(const std::string& folder);

}  // namespace autodist::chief
