// Manual pages, generated from the help texts.
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace autodist::cli {

// Returns autodist(1) if `command` is null, or else autodist-COMMAND(1), as man(7) source. `date`:
// "2026-11-23".
std::string ManPage(const CommandTree& tree, const CommandEntry* command, const std::string& date);

// "autodist-run".
std::string ManPageName(const CommandEntry* command);

}  // namespace autodist::cli
