// The work of a rank on CPUs.
#pragma once

#include <string>
#include <vector>

#include "work.h"

namespace autodist::burn {

// "AMD EPYC 7763 64-Core Processor", from /proc/cpuinfo; "CPU": unknown.
std::string CpuName();

// A multiplication of matrices whose result is known exactly, and a copy of memory that no cache
// holds. On one thread each, measured in the time of the CPU: programs beside it hardly count.
std::vector<Work> CpuWorks();

}  // namespace autodist::burn
