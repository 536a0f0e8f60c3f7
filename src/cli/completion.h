// Completion scripts: all that is known of the commands is in them; only for the ids and names of
// jobs do they call autodist (`autodist completion --jobs`).
#pragma once

#include <string>

#include "cli/command_tree.h"

namespace autodist::cli {

std::string BashCompletion(const CommandTree& tree);
std::string ZshCompletion(const CommandTree& tree);
std::string FishCompletion(const CommandTree& tree);

// The help's first clause, for a line of a list.
std::string Brief(const std::string& text);

}  // namespace autodist::cli
