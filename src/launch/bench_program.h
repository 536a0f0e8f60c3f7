// Puts the program that `autodist bench` runs as ranks, and the libraries that it needs, where
// nodes can have them copied from.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::launch {

struct BenchProgram {
  std::string folder;    // on this machine
  std::string on_nodes;  // the same, as a node finds it: "~/..."
};

// Copies what is in the folder bench/ beside the running program to where nodes are to have it, if
// it is not there yet. Blocks on the disk.
Result<BenchProgram> InstallBenchProgram(const std::string& home);

}  // namespace autodist::launch
