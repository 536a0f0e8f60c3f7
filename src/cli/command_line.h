// What was typed, before options are read: the command, and where the user's program begins.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "cli/app.h"

namespace autodist::cli {

struct CommandLine {
  std::vector<std::string> argv;     // autodist's own: the command first, if there is one
  std::vector<std::string> program;  // the user's, untouched
  bool from_elsewhere = false;       // typed on another machine (--chief-on)
};

// A command that takes a program (CLI's prefix_command) has it after "--", or from the first word
// on that is no option. `autodist` and `autodist help COMMAND` ask for help. kInvalidArgument: a
// command or an option that there is not, with the one that may have been meant.
Result<CommandLine> ReadCommandLine(const CLI::App& app, const std::vector<std::string>& argv);

// Why argv was refused that ReadCommandLine has let through.
Status WhyRefused(const CLI::App& app, const CLI::ParseError& error);

}  // namespace autodist::cli
