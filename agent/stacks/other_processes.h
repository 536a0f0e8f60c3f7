// The processes of this node that take CPU time from the job's ranks.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>

namespace autodist::agent {

// Returns the process that uses the most CPU time, without those of the job, `own` and those below
// it, as a line: "other program: python3 train.py (process 4711, of job 20261129-…) uses 0.9
// cores"; "": none uses 0.2 cores. Blocks for half a second, in which it measures.
std::string BusiestOther(const std::string& job, pid_t own = getpid());

}  // namespace autodist::agent
