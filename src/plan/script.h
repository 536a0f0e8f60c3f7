// The script that a command line runs.
#pragma once

#include <string>
#include <vector>

namespace autodist::plan {

// At most one of the two.
struct Script {
  std::string path;    // as the command line writes it, whether or not there is such a file
  std::string module;  // of `python -m`
};

// What a Python, a shell, or one of the launchers that start scripts is told to run, also behind
// `env`, `numactl` and the like. Empty where that is something else, or cannot be told for sure.
Script ScriptIn(const std::vector<std::string>& command);

}  // namespace autodist::plan
