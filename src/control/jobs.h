// This user's jobs: those that run on this machine, those that have ended, and those whose autodist
// is gone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// All jobs that have a socket or a record, oldest first.
std::vector<std::string> KnownJobs();

// Finds the job that `word` means: an id, a name (the newest job that has it), a beginning or end
// of the id that no other job has, or "last". A failure lists the candidates. `jobs` as KnownJobs
// returns them.
Result<std::string> FindJob(const std::string& word, const std::vector<std::string>& jobs,
                            const std::function<std::string(const std::string& job)>& name_of);

// The job of a command without a job argument: the only one of `running`, the running jobs; if none
// runs, the last of `jobs`. A failure lists the running jobs if there are several.
Result<std::string> DefaultJob(const std::vector<v1::JobStatus>& running,
                               const std::vector<std::string>& jobs);

// The name that the user gave the job; "": unnamed.
std::string NameOfJob(const std::string& job_id);

// Whether a job may have this name: letters, digits, '.', '_' and '-', at most 64, and neither
// "last" nor the form of a job id.
Status CheckJobName(std::string_view name);

// Asks the job's autodist, or reads the record if it is gone. Blocks for a few seconds at most.
Result<v1::JobStatus> LookUpJob(const std::string& job_id);

// The jobs whose autodist answers or at least listens, oldest first; with `all` also the others.
// Asks many in parallel.
std::vector<v1::JobStatus> ListJobs(bool all);

// Adds those that crashed and whose ranks may still run (MayStillRun). `now_ms`: since 1970.
std::vector<v1::JobStatus> ListJobsThatMayRun(int64_t now_ms);

}  // namespace autodist::control
