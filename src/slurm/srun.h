// The program srun: how it is started, and what it says of why it starts nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::slurm {

// Begins a command line, which the program goes behind: a step with a task on each node, and as
// many GPUs. It takes nothing away from other steps, goes on without nodes that are lost, and
// neither cares about the folder that we are in nor binds anything to a core. srun does not get the
// variables `secret`. Source: srun(1).
std::vector<std::string> SrunArgv(const std::vector<std::string>& nodes, uint32_t gpus,
                                  const std::vector<std::string>& secret);

// kAborted: the allocation is over, or ends. OK where srun says nothing of its own.
Status SrunError(const std::string& said);

}  // namespace autodist::slurm
