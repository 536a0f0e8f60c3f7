// The jobs of the folder that `run --sync` copies to the nodes.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "transfer/folder_sync.h"
#include "transfer/sync_text.h"

namespace autodist::cli {

// When the recorded jobs with this working directory ran. Blocks on the disk.
std::vector<transfer::JobTime> TimesOfJobsIn(const std::string& working_directory);

// The jobs that run with this working directory, with their nodes. Asks their chiefs: blocks for a
// few seconds at most.
std::vector<v1::JobStatus> RunningJobsIn(const std::string& working_directory);

// Fails if a job runs, because --sync-delete would delete what it writes on the nodes.
Status CheckNoneRuns(const std::vector<v1::JobStatus>& running);

// --sync may replace files that a running job still reads, on nodes that both jobs have.
std::vector<transfer::NodeWarning> WarningsOfRunning(const std::vector<v1::JobStatus>& running,
                                                     const v1::LaunchPlan& plan);

}  // namespace autodist::cli
