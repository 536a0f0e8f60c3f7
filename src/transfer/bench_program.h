// Puts the program that `autodist bench` runs as ranks, and the libraries that it needs, where
// nodes can have them copied from.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::transfer {

struct BenchProgram {
  std::string folder;    // on this machine
  std::string on_nodes;  // the same, as a node finds it: "~/..."
  // The ranks' programs there, as commands in that folder. That for CPUs brings its own C library,
  // since a node's may be older than that of this build; that for GPUs, whose driver must fit, not.
  std::vector<std::string> for_cpus;
  std::vector<std::string> for_gpus;  // empty: this build has none
};

// Unpacks what travels inside autodist to where nodes are to have it, if it is not there yet.
// Blocks on the disk.
Result<BenchProgram> InstallBenchProgram(const std::string& home);

}  // namespace autodist::transfer
