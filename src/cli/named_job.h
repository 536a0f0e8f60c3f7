// The job that a user names on the command line.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "control/jobs.h"

namespace autodist::cli {

inline constexpr char kJobHelp[] =
    "The job: its id, a beginning or an end of it that no other job has, the name that you gave "
    "it, "
    "or 'last'";

// Says what is wrong with a word that means no job.
inline Result<v1::JobStatus> NamedJob(const std::string& word) {
  AD_ASSIGN_OR_RETURN(const std::string id,
                      control::FindJob(word, control::KnownJobs(), control::NameOfJob));
  return control::LookUpJob(id);
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
