// The command that a person wants to be run when a job is over (--on-exit).
#pragma once

#include <chrono>
#include <string>

#include "autodist/v1/job.pb.h"

namespace autodist::chief {

inline constexpr std::chrono::minutes kOnEndLimit{5};

// Runs `sh -c COMMAND` with the job's end in its environment. `outcome`: "ended", "failed",
// "stopped" or "not started". Blocks until it has ended, or is killed as it takes longer than
// kOnEndLimit. A failure of it is a warning.
void RunOnExit(const std::string& command, const v1::JobStatus& ended, const std::string& outcome,
               std::chrono::milliseconds limit = kOnEndLimit);

}  // namespace autodist::chief
