// --show, --prefix and --color: how what the ranks write is shown.
#pragma once

#include <string>

#include "autodist/status.h"
#include "cli/app.h"
#include "display/rank_lines.h"

namespace autodist::cli {

struct DisplayOptions {
  std::string show = "all";
  std::string prefix = "node";
  std::string colour = "auto";
};

// Fills them as they are parsed; they have to outlive that. `group`: of the help.
void AddDisplayOptions(CLI::App& app, DisplayOptions& options, const std::string& group);

// Also sets the colours of our own messages. kInvalidArgument: --show names ranks that are not
// among the processes.
Result<display::View> ViewOf(const DisplayOptions& options,
                             const std::vector<display::Process>& processes);

}  // namespace autodist::cli
