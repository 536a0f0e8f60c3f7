// Removes the log folders and records of jobs that are over.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// Whether no process of the job writes any more, as far as this machine can know.
bool IsOver(const v1::JobStatus& job);

// Whether ranks of a job whose autodist is gone may still run: neither Slurm nor `clean` has ended
// them, and its last activity is so recent that a lease may not have expired. Blocks on the disk.
bool MayStillRun(const v1::JobStatus& job, int64_t now_ms);

// Records that a job whose autodist is gone has ended, and that nothing of it is left. Blocks on
// the disk.
Status EndCrashed(const v1::JobStatus& job, int exit_code);

struct PruneRule {
  std::optional<std::chrono::milliseconds> older_than;  // since the end
  std::optional<uint64_t> keep;                         // the number of newest ones to keep
};

// Selects from `jobs`, oldest first, those that are over, that have no process that may still run,
// and that the rule does not keep. If both parts are set, both must allow the removal.
std::vector<v1::JobStatus> JobsToPrune(const std::vector<v1::JobStatus>& jobs,
                                       const PruneRule& rule, int64_t now_ms);

// The size of all files in the job's log folder. Blocks on the disk.
uint64_t LogBytes(const v1::JobStatus& job);

// Removes the job's log folder, unless it is on another machine, and record. Refuses a folder that
// is not named like the job, is another user's, or lacks the job's job.json. Blocks on the disk.
Status RemoveJob(const v1::JobStatus& job);

}  // namespace autodist::control
