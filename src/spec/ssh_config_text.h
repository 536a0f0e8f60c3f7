// The syntax of lines in OpenSSH's configuration files, as in ssh_config(5). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::spec {

// Splits a line into keyword and arguments: blanks or one '=' follow the keyword; both kinds of
// quotes protect blanks, a backslash protects a quote; '#' at the start of a field begins a
// comment.
std::vector<std::string> SshConfigWords(std::string_view line);

inline bool IsSshPattern(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos || name.starts_with('!');
}

}  // namespace autodist::spec
