// How far jobs are, and why they were started again, as their snapshots say.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::cli {

// What the snapshot of a job says of it; absent where that is over, or nothing is said.
std::optional<v1::Progress> ProgressIn(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

using ProgressOfJobs = std::map<std::string, v1::Progress>;  // by their ids, where it is known

// Asks the autodist of each job, many at once. Blocks for a few seconds at most.
ProgressOfJobs ProgressOf(const std::vector<v1::JobStatus>& jobs);

struct JobDetails {
  bool stalled = false;
  std::vector<std::pair<std::string, std::string>> rows;  // name, value
};

// "step 25 of 60, epoch 1/2, 10.1 steps/s", metrics, issues with steps, and the cause of the last
// restart.
JobDetails DetailsOf(const v1::JobSnapshot& snapshot);

// {"since_ms":…,"what":"…"}, or null where it makes steps, or none are known.
std::string StalledJson(const v1::JobSnapshot& snapshot);

}  // namespace autodist::cli
