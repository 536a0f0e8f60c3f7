// Patterns for paths, as gitignore(5) has them.
#pragma once

#include <string_view>

namespace autodist::files {

// The pattern against the whole path, "a/b". '*', '?' and classes do not match '/'; "**" between
// slashes does.
bool GlobMatches(std::string_view pattern, std::string_view path);

}  // namespace autodist::files
