// Finds out everything that a run would need, on all nodes at the same time, and starts no rank.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Blocks until every node has been examined or given up, and every agent has ended; for seconds.
// Call it before any other thread is started. `full_mesh`: however many nodes there are, each
// tries to connect to all others. kCancelled: by Ctrl-C.
Result<v1::Diagnosis> ProbeNodes(v1::LaunchPlan plan, launch::LaunchOptions options,
                                 bool full_mesh);

// Whether the folder is there and can be written, or could be made.
Status CheckFolderForLogs(const std::string& folder);

}  // namespace autodist::chief
