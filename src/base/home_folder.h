// The user's home folder on this node.
#pragma once

#include <string>

namespace autodist::base {

// "~/a" as a path in the home folder; any other path as it is.
std::string ExpandHome(const std::string& path);

}  // namespace autodist::base
