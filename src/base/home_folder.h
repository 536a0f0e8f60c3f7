// The user's home folder on this node.
#pragma once

#include <string>

namespace autodist::base {

// Returns HOME or, where that is not an absolute path, the user's folder in /etc/passwd; "" if
// neither is set.
std::string HomeFolder();

// Replaces a leading "~/" with the home folder; returns any other path unchanged.
std::string ExpandHome(const std::string& path);

// Replaces the home folder at the beginning by "~", for people; returns any other path unchanged.
std::string ShortenHome(const std::string& path);

}  // namespace autodist::base
