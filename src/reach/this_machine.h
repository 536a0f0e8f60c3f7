// The user who runs autodist, and the machine they sit at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "plan/ssh_reach.h"

namespace autodist::reach {

Result<plan::User> ThisUser();

// Allows as many open files as we may have: a job needs two log files per rank and a socket or two
// per node.
void RaiseFileLimit();

// CUDA device numbers: those in CUDA_VISIBLE_DEVICES where it is set, else all that the NVIDIA
// driver lists. Empty without a driver.
std::vector<uint32_t> LocalGpus();

}  // namespace autodist::reach
