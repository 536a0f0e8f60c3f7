// Programs that start ranks themselves. Started once per device they would start too many.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

struct KnownLauncher {
  const char* name;     // of the program, or of the Python module
  const char* dialect;  // in which it is told the cluster
  const char* without;  // in which its programs are, where it is left out; nullptr: in none of ours
  v1::ProgramKind kind;
  // Whether it reaches the nodes by means of its own. Some can be kept from it, and are then
  // started once per node.
  bool by_itself = false;
};

// The launcher that the command runs, also behind a Python, `env`, `numactl` and the like.
std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command);

}  // namespace autodist::plan
