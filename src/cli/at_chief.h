// --chief-on and --spec of the commands for a job whose chief was started on a node (run
// --chief-on): they are run there.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commands.h"

namespace autodist::cli {

// Adds both options; with --chief-on, what the result does is to run `words`, all of this command
// line, on that node, else what `here` does.
Command OrAtChief(CLI::App& app, const std::vector<std::string>& words, Command here);

}  // namespace autodist::cli
