// The machines that a user's OpenSSH configuration names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/host_list.h"

namespace autodist::spec {

// The syntax of lines in OpenSSH's configuration files, as in ssh_config(5). Pure functions.

// Splits a line into keyword and arguments: blanks or one '=' follow the keyword; both kinds of
// quotes protect blanks, a backslash protects a quote; '#' at the start of a field begins a
// comment.
std::vector<std::string> SshConfigWords(std::string_view line);

inline bool IsSshPattern(std::string_view name) {
  return name.find_first_of("*?") != std::string_view::npos || name.starts_with('!');
}

// Returns the names after `Host` (and `Match originalhost`) in `ssh_folder`/config that are not
// patterns and match the shell pattern `pattern`, without their settings, which ssh reads itself.
// Follows Include as ssh_config(5) does; a relative path is relative to `ssh_folder`, "~/" to
// `home`. A name counts only if the blocks around the Include match it too. Reads files.
HostList SshConfigHosts(const std::string& ssh_folder, const std::string& home,
                        const std::string& pattern);

}  // namespace autodist::spec
