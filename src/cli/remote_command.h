// Runs a command on the node that has the chief of the job (run --chief-on), by --chief-on and
// --spec.
#pragma once

#include "cli/app.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace autodist::cli {

// Adds both options. The result runs the whole command line on the node of --chief-on; without
// --chief-on, or if the command line came from another machine, it runs `here`.
Command OrRemote(CLI::App& app, const CommandLine& line, Command here);

}  // namespace autodist::cli
