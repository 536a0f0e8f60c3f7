// Names of options and commands before version 0.2. They still work, and no help shows them.
#pragma once

#include <string>

namespace autodist::cli {

// "--framework=torch" of "--dialect=torch", "frameworks" of "dialects"; other words as they are.
std::string CurrentName(const std::string& word);

// The value of this option that had another name: "direct" of "here" for --sync-topology.
std::string CurrentValue(const std::string& option, const std::string& value);

}  // namespace autodist::cli
