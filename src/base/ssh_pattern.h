// Patterns for names of hosts, as ssh_config(5) and sshd(8) describe them under PATTERNS and for
// known_hosts: '*' is any run of characters, '?' is one. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

bool MatchesSshPattern(std::string_view name, std::string_view pattern);

// Whether one of the patterns matches, and none that begins with '!'.
bool MatchesSshPatterns(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace autodist::base
