// Programs that start ranks themselves. Started once per device they would start too many.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

struct KnownLauncher {
  const char* name;  // of the program, or of the Python module
  v1::ProgramKind kind;
  const char* dialect;
};

// The launcher that the command runs, also where a Python or `env` runs it for us.
std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command);

}  // namespace autodist::plan
