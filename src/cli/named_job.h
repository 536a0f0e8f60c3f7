// The job that a user names on the command line.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/job_text.h"
#include "cli/values.h"
#include "control/jobs.h"
#include "control/prune.h"

namespace autodist::cli {

inline constexpr char kJobHelp[] =
    "The job: its id, a beginning or an end of it that no other job has, the name that you gave "
    "it, or 'last'; default: the job that is running, or else the last one";

// The positional JOB. An empty word, which an unset shell variable leaves, means no job.
inline void AddJob(CLI::App& app, std::string& job, const char* help = kJobHelp) {
  app.add_option("JOB", job, help)->check(NotEmpty());
}

// The job that the word means; without a word the one that runs, or where none does the last one.
// An error says what is wrong with the word, or lists the jobs that could be meant.
inline Result<v1::JobStatus> NamedJob(const std::string& word) {
  if (word.empty()) {
    const std::vector<v1::JobStatus> running = control::ListJobs(false);
    AD_ASSIGN_OR_RETURN(const std::string id, control::DefaultJob(running, control::KnownJobs()));
    return control::LookUpJob(id);
  }
  AD_ASSIGN_OR_RETURN(const std::string id,
                      control::FindJob(word, control::KnownJobs(), control::NameOfJob));
  return control::LookUpJob(id);
}

// kFailedPrecondition: it still runs.
inline Status CheckIsOver(const v1::JobStatus& job) {
  if (control::IsOver(job)) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, "job " + job.job_id() + " has not ended"),
      "`autodist stop " + job.job_id() + "` ends it");
}

// Says what can be done about a job whose autodist is gone, and returns the exit code.
inline int FailCrashed(const v1::JobStatus& job) {
  return Fail(Error(StatusCode::kUnavailable, CrashedText(job)), kExitCannotLaunch);
}

// Whether the job has them.
inline Status CheckRanks(const std::vector<uint32_t>& ranks, const v1::JobStatus& job) {
  for (const uint32_t rank : ranks) {
    if (job.processes() == 0 || rank < job.processes()) continue;
    return Error(StatusCode::kInvalidArgument,
                 "job " + job.job_id() + " has no rank " + std::to_string(rank) + ", but " +
                     base::Count(job.processes(), "rank") + ", counted from 0");
  }
  return OkStatus();
}

}  // namespace autodist::cli
