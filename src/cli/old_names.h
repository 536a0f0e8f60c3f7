// Names of options and commands before version 0.2. They still work and are not in the help.
#pragma once

#include <string>

namespace autodist::cli {

// Returns "--framework=torch" for "--dialect=torch", "frameworks" for "dialects", other words
// unchanged.
std::string CurrentName(const std::string& word);

// Returns the current name of an option's value: "direct" for "here" of --sync-topology.
std::string CurrentValue(const std::string& option, const std::string& value);

}  // namespace autodist::cli
