// The job that a user names on the command line.
#pragma once

#include <string>

#include "base/log.h"
#include "cli/commands.h"
#include "control/jobs.h"

namespace autodist::cli {

inline constexpr char kJobHelp[] =
    "The job: its name, a beginning or an end of it that no other job has, or 'last'";

// Says what is wrong with a name that means no job.
inline Result<v1::JobStatus> NamedJob(const std::string& name) {
  AD_ASSIGN_OR_RETURN(const std::string id, control::FindJob(name, control::KnownJobs()));
  return control::LookUpJob(id);
}

}  // namespace autodist::cli
