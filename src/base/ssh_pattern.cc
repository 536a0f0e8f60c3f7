#include "base/ssh_pattern.h"

namespace autodist::base {

bool MatchesSshPattern(std::string_view name, std::string_view pattern) {
  // Backtracking point: behind the last '*', which then matches one more character of the name.
  size_t at = 0;
  size_t in_name = 0;
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after_star = in_name;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[in_name])) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool MatchesSshPatterns(std::string_view name, const std::vector<std::string>& patterns) {
  bool matches = false;
  for (const std::string_view pattern : patterns) {
    const bool negated = pattern.starts_with('!');
    if (!MatchesSshPattern(name, negated ? pattern.substr(1) : pattern)) continue;
    if (negated) return false;
    matches = true;
  }
  return matches;
}

}  // namespace autodist::base
