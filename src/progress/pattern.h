// Regular expressions with named groups, in RE2's syntax; matching takes linear time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/status.h"

namespace re2 {
class RE2;
}

namespace autodist::progress {

// Immutable; thread-safe. Copies share the program.
class Pattern {
 public:
  static constexpr size_t kMaxGroups = 16;

  // kInvalidArgument, with the position: invalid syntax, no named group, or too many groups.
  static Result<Pattern> Parse(const std::string& text);

  struct Match {
    std::vector<std::pair<std::string_view, std::string_view>> groups;  // name, what it matched
    std::string_view before;
    std::string_view after;
  };
  // Finds the first match in `line`; groups that did not match are left out. False: no match.
  bool Find(std::string_view line, Match& match) const;

 private:
  Pattern() = default;

  std::shared_ptr<const re2::RE2> expression_;
  std::vector<std::string> names_;  // of the groups; empty: unnamed
};

}  // namespace autodist::progress
