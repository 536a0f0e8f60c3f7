// The job that a user names on the command line.
#pragma once

#include <string>

#include "base/log.h"
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

}  // namespace autodist::cli
