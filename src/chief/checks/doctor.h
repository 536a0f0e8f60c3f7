// Checks everything that a run needs, on all nodes at the same time, without starting ranks.
#pragma once

#include <string>

#include "autodist/status.h"
#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Blocks for seconds, until every node has been checked or given up and every agent has ended. Call
// it before any other thread is started. `full_mesh`: each node tries to connect to all others,
// however many there are. kCancelled: by Ctrl-C.
Result<v1::Diagnosis> ProbeNodes(v1::LaunchPlan plan, launch::LaunchOptions options,
                                 bool full_mesh);

// Checks that the folder exists and is writable, or could be created.
Status CheckFolderForLogs(const std::string& folder);

}  // namespace autodist::chief
