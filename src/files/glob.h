// Path patterns of gitignore(5).
#pragma once

#include <string_view>

namespace autodist::files {

// Matches the pattern against the whole path, "a/b". '*', '?' and classes do not match '/'; "**"
// between slashes does.
bool GlobMatches(std::string_view pattern, std::string_view path);

}  // namespace autodist::files
