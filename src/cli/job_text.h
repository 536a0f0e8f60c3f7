// Jobs as text, for `autodist ps` and `autodist status`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::cli {

// Returns the progress in the snapshot; nullopt if the job has ended or reports none.
std::optional<v1::Progress> ProgressIn(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

using ProgressOfJobs = std::map<std::string, v1::Progress>;  // by job id, if known

// Queries the chiefs of the jobs that run, in parallel, and returns the snapshots of those that
// answer, in order. Blocks for at most a few seconds.
std::vector<v1::JobSnapshot> SnapshotsOf(const std::vector<v1::JobStatus>& jobs);
ProgressOfJobs ProgressIn(const std::vector<v1::JobSnapshot>& snapshots);
// The ids of the jobs that make no progress.
std::set<std::string> StalledJobsIn(const std::vector<v1::JobSnapshot>& snapshots);

struct JobDetails {
  bool stalled = false;
  std::vector<std::pair<std::string, std::string>> rows;  // name, value
};

// "step 25 of 60, epoch 1/2, 10 steps/s", metrics, issues with steps, and the cause of the last
// restart.
JobDetails DetailsOf(const v1::JobSnapshot& snapshot);

// {"since_ms":…,"what":"…"}, or null if the job makes steps, or no steps are known.
std::string StalledJson(const v1::JobSnapshot& snapshot);

// "running", "exit 0", "crashed".
std::string StateText(const v1::JobStatus& job);

// One line per job, with a heading. A running job among the `stalled` has that as its state.
// `now_ms`: since 1970. If `width` is not 0, drops columns, and
// shortens ids and commands, until the lines fit in `width` columns.
std::string JobTable(const std::vector<v1::JobStatus>& jobs, const ProgressOfJobs& progress,
                     const std::set<std::string>& stalled, int64_t now_ms, size_t width);

// One line per rank of these jobs, with a heading; "" if no rank is known.
std::string RankTable(const std::vector<v1::JobSnapshot>& snapshots);

// All details of one job.
std::string JobText(const v1::JobStatus& job, int64_t now_ms, const JobDetails& details = {});

// Explains that the job has crashed and how to end its ranks.
std::string CrashedText(const v1::JobStatus& job);

}  // namespace autodist::cli
