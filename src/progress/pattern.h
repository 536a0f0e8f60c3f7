// Regular expressions with named groups, in RE2's syntax: linear in time, whatever the line is.
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

  // kInvalidArgument, with the place: it is none, or names no group, or more than can be.
  static Result<Pattern> Parse(const std::string& text);

  struct Match {
    std::vector<std::pair<std::string_view, std::string_view>> groups;  // name, what it matched
    std::string_view before;
    std::string_view after;
  };
  // The first match in `line`; groups that took no part in it are left out. False: there is none.
  bool Find(std::string_view line, Match& match) const;

 private:
  Pattern() = default;

  std::shared_ptr<const re2::RE2> expression_;
  std::vector<std::string> names_;  // of the groups; empty: has none
};

}  // namespace autodist::progress
