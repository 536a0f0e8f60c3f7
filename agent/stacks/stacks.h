// The stacks of a rank's processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "process/environment.h"

namespace autodist::agent {

inline constexpr std::chrono::seconds kStackProgramLimit{25};  // per process

// Returns a text about `pid` and every process below it: the kernel's data about each thread, and
// the stacks from py-spy (for Python) or gdb, whichever is in the rank's PATH. They stop the
// process meanwhile; one that ran before is resumed, however they end. Printable UTF-8, about 1 MiB
// at most.
//
// Blocks: for about a minute at most, after which no more programs are started. Any thread may call
// it.
std::string ProcessStacks(pid_t pid, Supervisor& supervisor,
                          const process::Environment& rank_environment,
                          std::chrono::milliseconds program_limit = kStackProgramLimit);

}  // namespace autodist::agent
