// The version of this autodist.
#pragma once

#include <string>

namespace autodist::cli {

// "autodist 0.2.0 (commit 3fa9c1d2e4b6)", and a line per built-in agent.
std::string VersionText();

}  // namespace autodist::cli
