// The jobs of this user: those that run on this machine, those that have ended, and those whose
// autodist is gone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// Every job that has a socket or is in the record, oldest first.
std::vector<std::string> KnownJobs();

// The job that a user means by `word`: its id, its name, of which the newest job with it has the
// use, a beginning or an end of the id that no other job has, or "last". A failure lists what could
// be meant. `jobs` as KnownJobs gives them.
Result<std::string> FindJob(const std::string& word, const std::vector<std::string>& jobs,
                            const std::function<std::string(const std::string& job)>& name_of);

// The job that is meant where none is named: of `running`, the jobs that run, the only one; where
// none runs, the last of `jobs`. A failure lists the running jobs where there are several.
Result<std::string> DefaultJob(const std::vector<v1::JobStatus>& running,
                               const std::vector<std::string>& jobs);

// The name that its user has given the job; "": none.
std::string NameOfJob(const std::string& job_id);

// Whether a user may give a job this name: letters, digits, '.', '_' and '-', no more than 64, and
// neither "last" nor what a job's id may be.
Status CheckJobName(std::string_view name);

// Asks the job's autodist, or where there is none the record. Blocks for a few seconds at most.
Result<v1::JobStatus> LookUpJob(const std::string& job_id);

// The jobs whose autodist answers or at least listens, oldest first; with `all` also the others.
// Asks many at the same time.
std::vector<v1::JobStatus> ListJobs(bool all);

// The same, and those that crashed and whose ranks may still run (MayStillRun). `now_ms`: since
// 1970.
std::vector<v1::JobStatus> ListJobsThatMayRun(int64_t now_ms);

}  // namespace autodist::control
