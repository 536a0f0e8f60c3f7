// What is copied to the nodes before a job: the folder of the program.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "launch/folder_sync.h"

namespace autodist::launch {

// Where nodes get the content of files.
enum class SyncFrom {
  kFirstNode,  // where this machine is no node: the first node gets it from here, others from it
  kHere,
};

// The folder of `run --sync`. Looks through the working directory; warnings go to the log. What is
// in `log_dir` stays here. Null where there is no node to copy to. Refuses `/` and the home folder.
Result<std::shared_ptr<FolderSync>> SyncOfWorkingDirectory(const v1::LaunchPlan& plan,
                                                           const std::string& log_dir,
                                                           const std::string& home, SyncFrom from);

// "left out of --sync by .gitignore: 3 files, 2 MB, and 1 folder, such as models/"; "": nothing is.
std::string WhatIsIgnored(const files::Ignored& ignored);

// Copies `folder` to the plan's working directory. `leave_out` is within it; empty: nothing.
Result<std::shared_ptr<FolderSync>> SyncOf(const std::string& folder, const v1::LaunchPlan& plan,
                                           const std::string& leave_out,
                                           SyncFrom from = SyncFrom::kFirstNode);

}  // namespace autodist::launch
