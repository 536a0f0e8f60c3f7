// Splits the command line into autodist's arguments and the user's program, before options are
// parsed.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "cli/app.h"

namespace autodist::cli {

struct CommandLine {
  std::vector<std::string> argv;     // autodist's arguments: the command first, if given
  std::vector<std::string> program;  // the user's program and its arguments, unchanged
  bool from_elsewhere = false;       // sent by another machine (--chief-on)
  bool help_all = false;             // --help all: with uncommon options
};

// For a command that takes a program (CLI's prefix_command), the program follows "--", or begins at
// the first argument that is not an option. Other commands have arguments there; with CLI's
// allow_extras, what follows "--" is left alone. Reads `autodist` and `autodist help COMMAND` as
// --help; leaves `autodist help TOPIC` unchanged. kInvalidArgument: unknown command or option.
Result<CommandLine> ReadCommandLine(const CLI::App& app, const std::vector<std::string>& argv);

// An option of a command line, with its value, or another argument.
struct Argument {
  std::string option;  // its name: "--rank"; "": none
  std::vector<std::string> words;
};
// Splits the arguments of a command that ReadCommandLine accepted.
std::vector<Argument> ArgumentsOf(const CLI::App& command, const std::vector<std::string>& argv);

// Explains why CLI11 rejected arguments that ReadCommandLine accepted.
Status WhyRefused(const CLI::App& app, const CLI::ParseError& error);

}  // namespace autodist::cli
