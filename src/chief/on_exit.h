// Runs the command of --on-exit when a job is over.
#pragma once

#include <chrono>
#include <string>

#include "autodist/v1/job.pb.h"

namespace autodist::chief {

inline constexpr std::chrono::minutes kOnEndLimit{5};

// Runs `sh -c COMMAND` with the result of the job in its environment. `outcome`: "ended", "failed",
// "stopped" or "not started". Blocks until the command has ended, or is killed after kOnEndLimit.
// Logs a failure as a warning.
void RunOnExit(const std::string& command, const v1::JobStatus& ended, const std::string& outcome,
               std::chrono::milliseconds limit = kOnEndLimit);

}  // namespace autodist::chief
