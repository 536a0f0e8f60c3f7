// How far jobs are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::cli {

// What the snapshot of a job says of it; absent where that is over, or nothing is said.
std::optional<v1::Progress> ProgressIn(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

// Asks the job's autodist; nullopt: the job does not run, or nothing is known of its progress.
// Blocks for a few seconds at most.
std::optional<v1::Progress> ProgressOf(const v1::JobStatus& job);

// The same of many at once, by their ids.
std::map<std::string, v1::Progress> ProgressOf(const std::vector<v1::JobStatus>& jobs);

}  // namespace autodist::cli
