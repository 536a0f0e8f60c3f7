// This user's jobs: those that run, here or elsewhere, those that have ended, and crashed ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// All jobs that have a socket or a record, oldest first.
std::vector<std::string> KnownJobs();

// What is known of these jobs, in order. Blocks as About does.
std::vector<v1::JobNote> NotesOf(const std::vector<std::string>& jobs);

// The word for the last job.
inline constexpr std::string_view kLastJob = "last";

// Finds the job that `word` means: an id, a name or the number of a Slurm job (the newest job that
// has it), a beginning or end of the id that no other job has, or "last": the newest job whose
// working directory is `folder` or else the newest. `jobs`: all, oldest first. `acting`: the name
// of a command that changes the job, for which "last" is no job of another folder than `folder`,
// unless that is ""; "": a command that only reads. A failure lists some jobs, the nearest first.
Result<std::string> FindJob(const std::string& word, const std::vector<v1::JobNote>& jobs,
                            const std::string& folder, const std::string& acting = "");

// The job of a command without a job argument. Of the jobs of `folder`: the only one of `running`,
// the running jobs; if none runs, the newest. Without such jobs, the same of all jobs. With
// `acting`, never a job of another folder. A failure lists the running jobs.
Result<std::string> DefaultJob(const std::vector<v1::JobStatus>& running,
                               const std::vector<v1::JobNote>& jobs, const std::string& folder,
                               const std::string& acting = "");

// "20261120-173000-3fa9c1 (sweep-3): python3 train.py, in /home/me/x"; without what is unknown.
std::string Described(const v1::JobStatus& job);

// Whether the folder, an absolute path, is the job's working directory, or has its logs in
// autodist-runs. False for "".
bool IsOfFolder(const v1::JobStatus& job, const std::string& folder);

// From the note of the job, else from its autodist, for which it blocks for a few seconds at most;
// only the id if it is unknown.
v1::JobNote About(const std::string& job_id);

// Whether a job may have this name: letters, digits, '.', '_' and '-', at most 64, and neither
// "last" nor the form of a job id.
Status CheckJobName(std::string_view name);

// Asks the job's autodist, or reads the record if that is gone or on another machine. Blocks for a
// few seconds at most. kNotFound: it is not recorded.
Result<v1::JobStatus> LookUpJob(const std::string& job_id);
// The same for a log folder, which does not have to be recorded, or is on another machine.
Result<v1::JobStatus> LookUpJobIn(const std::string& log_folder);

// All jobs, oldest first. Asks many in parallel.
std::vector<v1::JobStatus> ListJobs();

// Those that run: their autodist listens or is a process of this machine, or neither the record of
// another machine nor Slurm shows an end.
std::vector<v1::JobStatus> ListRunningJobs();
// The same of these jobs alone, in order.
std::vector<v1::JobStatus> RunningOf(const std::vector<std::string>& jobs);

// Adds those that crashed and whose ranks may still run (MayStillRun), and those of other machines
// of which nothing is known but their start. `now_ms`: since 1970.
std::vector<v1::JobStatus> ListJobsThatMayRun(int64_t now_ms);

}  // namespace autodist::control
