// The user's home folder on this node.
#pragma once

#include <string>

namespace autodist::base {

// HOME, or where that is no absolute path the folder that /etc/passwd has for this user; "" if
// there is none.
std::string HomeFolder();

// "~/a" as a path in the home folder; any other path as it is.
std::string ExpandHome(const std::string& path);

}  // namespace autodist::base
