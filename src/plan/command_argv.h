// What a command line runs, as far as can be told without running it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// "/usr/bin/python3" → "python3".
std::string BaseName(const std::string& path);

// A program that starts ranks itself. Started once per device it would start too many.
struct KnownLauncher {
  const char* name;       // of the program, or of the Python module
  const char* framework;  // in which it is told the cluster
  const char* without;  // in which its programs are, where it is left out; nullptr: in none of ours
  v1::ProgramKind kind;
  // Whether it reaches the nodes by means of its own. Some can be kept from it, and are then
  // started once per node.
  bool by_itself = false;
};

// The launcher that the command runs, also behind a Python, `env`, `numactl` and the like.
std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command);

// At most one of the two.
struct Script {
  std::string path;    // as the command line writes it, whether or not there is such a file
  std::string module;  // of `python -m`
};

// What a Python, a shell, or one of the launchers that start scripts is told to run, also behind
// `env`, `numactl` and the like. Empty where that is something else, or cannot be told for sure.
Script ScriptIn(const std::vector<std::string>& command);

}  // namespace autodist::plan
