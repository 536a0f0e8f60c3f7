// Ranks in Python that can wait for the next attempt with their modules imported (--warm).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/status.h"

namespace autodist::agent {

// Changes the commands of ranks that run a program in Python: run_python.py in `folder`, which is
// written there, runs it, records its imports, and can wait.
Status MakeWarm(const std::string& folder, std::vector<RankCommand>& ranks);

// Sets the names that waiting ranks import; returns those that the first rank has imported. Each
// name is on a line. `ranks`: those that can wait.
Status WriteModules(const std::string& folder, const std::vector<RankCommand>& ranks,
                    const std::string& names);
std::string ImportedModules(const std::string& folder, const std::vector<RankCommand>& ranks,
                            size_t most_bytes);

}  // namespace autodist::agent
