// Finds out everything that a run would need, on all nodes at the same time, and starts no rank.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/plan.pb.h"
#include "launch/launcher.h"

namespace autodist::chief {

// What of the run's options matters to it besides the plan.
struct Intended {
  bool full_mesh = false;   // however many nodes there are, each tries to connect to all others
  bool sync = false;        // the working directory would be copied to the nodes
  uint32_t fixed_port = 0;  // of the rendezvous; 0: any that is free
  std::string log_folder;   // for the folders of jobs
};

// Blocks until every node has been examined or given up, and every agent has ended; for seconds.
// Call it before any other thread is started. kCancelled: by Ctrl-C.
Result<v1::Diagnosis> ExamineNodes(v1::LaunchPlan plan, launch::LaunchOptions options,
                                   const Intended& intended);

// Whether the folder is there and can be written, or could be made.
Status CheckFolderForLogs(const std::string& folder);

}  // namespace autodist::chief
