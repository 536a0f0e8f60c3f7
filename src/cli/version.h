// What this autodist is.
#pragma once

#include <string>

namespace autodist::cli {

// "autodist 0.1.0 (commit 3fa9c1d2e4b6)", and the agents inside, a line each.
std::string VersionText();

}  // namespace autodist::cli
