// Lines and patterns of OpenSSH's configuration files, as ssh_config(5) has them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::spec {

// The keyword of a line and its arguments: blanks or one '=' come after the keyword; quotes of both
// kinds keep blanks, a backslash keeps a quote; '#' at the beginning of a word ends the line.
std::vector<std::string> SshConfigWords(std::string_view line);

inline bool IsSshPattern(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos || name.starts_with('!');
}

}  // namespace autodist::spec
