// Installs the programs that `autodist bench` and `doctor --burn` run as ranks, with their
// libraries, in a folder from which nodes can copy them.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::transfer {

// A command in the folder. The one for CPUs includes a C library, because a node's may be older
// than that of this build; the one for GPUs does not, because the driver must match.
struct BenchCommand {
  std::vector<std::string> for_cpus;
  std::vector<std::string> for_gpus;  // empty: this build has none
};

struct BenchPrograms {
  std::string folder;    // on this machine
  std::string on_nodes;  // the same on a node: "~/..."
  BenchCommand bench;
  BenchCommand burn;
};

// Unpacks the embedded programs into the folder for the nodes, if they are missing. Blocks on the
// disk.
Result<BenchPrograms> InstallBenchPrograms(const std::string& home);

}  // namespace autodist::transfer
