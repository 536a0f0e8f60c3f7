// Host name patterns as in ssh_config(5), PATTERNS, and in the known_hosts format of sshd(8): '*'
// matches any characters, '?' exactly one. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

bool MatchesSshPattern(std::string_view name, std::string_view pattern);

// Whether a pattern matches and no pattern that begins with '!' does.
bool MatchesSshPatterns(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace autodist::base
