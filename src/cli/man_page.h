// Manual pages, from what the help says.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace autodist::cli {

// autodist(1), where `command` is null, or autodist-COMMAND(1), in the language of man(7). `date`
// as 2026-11-23.
std::string ManPage(const CommandTree& tree, const CommandEntry* command, const std::string& date);

// "autodist-run".
std::string ManPageName(const CommandEntry* command);

}  // namespace autodist::cli
