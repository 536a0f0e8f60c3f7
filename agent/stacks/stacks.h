// What the processes of a rank are doing now.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "process/environment.h"

namespace autodist::agent {

inline constexpr std::chrono::seconds kStackProgramLimit{25};  // for one process

// Text about `pid` and every process below it: what the kernel tells of each thread, and the stacks
// that py-spy (of a Python) or gdb gives, whichever is in the PATH of the rank. They stop the
// process while they look; one that ran before runs on afterwards, however they end. UTF-8 that
// does nothing to a terminal, 1 MiB or so at most.
//
// Blocks: for no more programs than fit into a minute are begun. Any thread may call it.
std::string ProcessStacks(pid_t pid, Supervisor& supervisor,
                          const process::Environment& rank_environment,
                          std::chrono::milliseconds program_limit = kStackProgramLimit);

}  // namespace autodist::agent
