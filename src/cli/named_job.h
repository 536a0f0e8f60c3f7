// Finds the job that a user names on the command line.
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
    "Job id (a unique prefix or suffix is enough), job name, or 'last'; default: the running job, "
    "or else the newest";

// Adds the positional JOB. Rejects an empty word, which an unset shell variable leaves.
inline void AddJob(CLI::App& app, std::string& job, const char* help = kJobHelp) {
  app.add_option("JOB", job, help)->check(NotEmpty());
}

// Returns the job that the word names; for an empty word the running job, or else the newest. An
// error explains what is wrong with the word, or lists the candidates.
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

// kFailedPrecondition: the job still runs.
inline Status CheckIsOver(const v1::JobStatus& job) {
  if (control::IsOver(job)) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, "job " + job.job_id() + " has not ended"),
      "`autodist stop " + job.job_id() + "` ends it");
}

// Logs what to do about a crashed job and returns the exit code.
inline int FailCrashed(const v1::JobStatus& job) {
  return Fail(Error(StatusCode::kUnavailable, CrashedText(job)), kExitCannotLaunch);
}

// kInvalidArgument: the job does not have all of these ranks.
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
