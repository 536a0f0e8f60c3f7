// Removing what is kept of jobs that are over: their log folders, and their entries in the record.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// Whether nothing runs any more that writes for this job, as far as this machine can know.
bool IsOver(const v1::JobStatus& job);

// Whether ranks of a job whose autodist is gone may still run: nobody has cleaned up after it, and
// its last sign is so young that a lease may not be over. Blocks on the disk.
bool MayStillRun(const v1::JobStatus& job, int64_t now_ms);

// Notes that nothing is left of a job whose autodist is gone: it has ended. Blocks on the disk.
Status EndCrashed(const v1::JobStatus& job, int exit_code);

struct PruneRule {
  std::optional<std::chrono::milliseconds> older_than;  // since the end
  std::optional<uint64_t> keep;                         // of those that are over, the newest
};

// Of `jobs`, oldest first, those that are over, with nothing that may still run, and that the rule
// does not keep. Where the rule has both parts, a job goes if both let it go.
std::vector<v1::JobStatus> JobsToPrune(const std::vector<v1::JobStatus>& jobs,
                                       const PruneRule& rule, int64_t now_ms);

// The size of all files in its log folder. Blocks on the disk.
uint64_t LogBytes(const v1::JobStatus& job);

// Removes its log folder and its entry. Refuses a folder that is not named like the job, belongs to
// another user, or has no job.json of this job. Blocks on the disk.
Status RemoveJob(const v1::JobStatus& job);

}  // namespace autodist::control
