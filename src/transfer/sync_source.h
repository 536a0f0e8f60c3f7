// Selects the folder to copy to the nodes before a job: the folder of the program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "transfer/folder_sync.h"

namespace autodist::transfer {

// Prepares `run --sync`. Scans the working directory; logs warnings. Excludes the folder of logs.
// Returns null if there is no node to copy to. Refuses `/` and the home folder. `preview`: only
// reports what --sync-delete would delete. `jobs` and `warnings`: see SyncOptions.
Result<std::shared_ptr<FolderSync>> SyncOfWorkingDirectory(
    const v1::LaunchPlan& plan, const v1::JobRequest& request, const std::string& home,
    bool preview = false, std::function<std::vector<JobTime>()> jobs = {},
    std::vector<NodeWarning> warnings = {});

// Returns "left out of --sync by .gitignore: 3 files, 2 MB, and 1 folder, such as models/", or "".
std::string WhatIsIgnored(const files::Ignored& ignored);

// Prepares copying `folder` to the plan's working directory. `leave_out` is within it; empty:
// nothing. `from`: the node from which the others get the content if this machine is no node.
// `options`: the nodes and the target are those of the plan.
Result<std::shared_ptr<FolderSync>> SyncOf(const std::string& folder, const v1::LaunchPlan& plan,
                                           const std::string& leave_out,
                                           v1::SyncTopology from = v1::SYNC_TOPOLOGY_RELAY,
                                           SyncOptions options = {});

}  // namespace autodist::transfer
