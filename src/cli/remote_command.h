// --chief-on and --spec of the commands for a job whose chief was started on a node (run
// --chief-on): they are run there.
#pragma once

#include "cli/app.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace autodist::cli {

// Adds both options; with --chief-on, what the result does is to run all of this command line on
// that node, else, and where it has come from elsewhere, what `here` does.
Command OrRemote(CLI::App& app, const CommandLine& line, Command here);

}  // namespace autodist::cli
