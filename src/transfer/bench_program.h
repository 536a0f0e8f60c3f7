// Installs the program that `autodist bench` runs as ranks, with its libraries, in a folder from
// which nodes can copy it.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::transfer {

struct BenchProgram {
  std::string folder;    // on this machine
  std::string on_nodes;  // the same on a node: "~/..."
  // The ranks' programs, as commands in that folder. The one for CPUs includes a C library, because
  // a node's may be older than that of this build; the one for GPUs does not, because the driver
  // must match.
  std::vector<std::string> for_cpus;
  std::vector<std::string> for_gpus;  // empty: this build has none
};

// Unpacks the embedded programs into the folder for the nodes, if they are missing. Blocks on the
// disk.
Result<BenchProgram> InstallBenchProgram(const std::string& home);

}  // namespace autodist::transfer
