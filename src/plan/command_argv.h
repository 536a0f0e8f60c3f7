// Analyses what a command line runs, without running it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// "/usr/bin/python3" → "python3".
std::string BaseName(const std::string& path);

// A program that starts ranks itself. Started once for each device it would start too many.
struct KnownLauncher {
  const char* name;       // of the program, or of the Python module
  const char* framework;  // the framework through which it learns the cluster
  const char* without;    // the framework of the programs without it; nullptr: none of ours
  v1::ProgramKind kind;
  // Whether it reaches the nodes itself, for example by SSH. Some can be prevented from that, and
  // are then started once per node.
  bool by_itself = false;
};

// Returns the launcher that the command runs, also behind a Python, `env`, `numactl` and the like.
std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command);

// At most one of the two is set.
struct Script {
  std::string path;    // as the command line writes it; it may not exist
  std::string module;  // of `python -m`
};

// Returns the command with the ranks' python3 before it if it begins with "-m MODULE", or with a
// Python script that does not run by itself: as torchrun runs both.
std::vector<std::string> WithPython(std::vector<std::string> command, bool needs_interpreter);

// kInvalidArgument: the command only changes a shell, such as `conda activate train`.
Status CheckForRanks(const std::vector<std::string>& command);

// Returns the script that a Python, a shell or a launcher of scripts runs, also behind `env`,
// `numactl` and the like. Empty for other programs and ambiguous command lines.
Script ScriptIn(const std::vector<std::string>& command);

}  // namespace autodist::plan
