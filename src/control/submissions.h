// The jobs that `autodist submit` has handed to Slurm. Slurm may keep one pending for days, and its
// autodist records it only when it begins.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "slurm/ended_job.h"

namespace autodist::control {

// Records a job by its number in Slurm (slurm_job) and its cluster, if that is known. Of the job's
// status, the note has the name, command, working directory and the time of the submission. Forgets
// all but the newest 100. Blocks on the disk.
Status RecordSubmission(const v1::JobNote& note);

// The recorded submissions of which none of `jobs` is the job, oldest first. Blocks on the disk.
std::vector<v1::JobNote> SubmissionsWithout(const std::vector<v1::JobNote>& jobs);

// Forgets a submission. Blocks on the disk.
void ForgetSubmission(const v1::JobNote& submission);

using StateOfSubmission = std::function<slurm::SubmissionState(const v1::JobNote& submission)>;

// The newest job of `folder`, if that is a submission that is pending; passes over submissions that
// have ended. Pure logic.
std::optional<v1::JobNote> PendingJobOf(const std::string& folder,
                                        const std::vector<v1::JobNote>& submissions,
                                        const std::vector<v1::JobNote>& jobs,
                                        const StateOfSubmission& state_of);

}  // namespace autodist::control
