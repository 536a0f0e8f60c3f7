// The commands and options as plain values, for completions, man pages and reference pages.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace autodist::cli {

// The value of an option, or a positional argument.
struct ValueKind {
  enum Kind { kNone, kAny, kChoice, kFramework, kFile, kFolder, kJob, kCommand, kVariable };

  Kind kind = kNone;  // kNone: a flag
  std::string name;   // as the help shows it
  std::vector<std::string> choices;
  bool list = false;      // several, separated by commas
  bool optional = false;  // may be omitted
};

struct OptionEntry {
  std::vector<std::string> names;  // "-n", "--nproc-per-node"
  std::string text;                // with the default
  std::string group;
  bool repeated = false;
  ValueKind value;
};

struct CommandEntry {
  std::string name;  // empty: autodist itself
  std::string text;
  std::string footer;
  std::vector<OptionEntry> options;      // in the order of the help
  std::vector<OptionEntry> positionals;  // each with one name
  bool takes_program = false;
};

struct CommandTree {
  CommandEntry program;
  std::vector<CommandEntry> commands;  // the commands that the help lists
};

// "[JOB...]". `name`: the value's, with the markup of the output.
std::string Placeholder(const ValueKind& value, const std::string& name, bool repeated = false);

CommandTree TreeOf(const CLI::App& app);

// Groups of the command's options, in the order of the help.
std::vector<std::string> GroupsOf(const CommandEntry& command);

}  // namespace autodist::cli
