// Finds faults of the node's hardware.
#pragma once

#include <string>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/facts.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// Returns only the fact hardware_faults. Runs nvidia-smi, if there is one, for kProbeLimit at most;
// what cannot be read is left out. `root`: "" or a folder with copies of /proc and /sys.
v1::NodeInfo HardwareFaults(const process::Environment& environment,
                            const std::string& working_directory, Supervisor& supervisor,
                            const std::string& root = "");

}  // namespace autodist::agent
