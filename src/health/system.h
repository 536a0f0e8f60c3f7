// Faults of processes, processors and the clock, from /proc and /sys.
#pragma once

#include <string>
#include <vector>

#include "health/fault.h"

namespace autodist::health {

// `root`: "" or a folder with copies of /proc and /sys.
std::vector<Fault> FindInSystem(const std::string& root);

}  // namespace autodist::health
