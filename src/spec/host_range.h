// Names of several hosts in one word, as Slurm and pdsh write them: "gpu[01-16,20]",
// "rack[1-2]n[1-4]", "10.0.0.[1-8]".
//
// Pure functions; a range of more than kMaxHosts is refused before it is made.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::spec {

inline constexpr size_t kMaxHosts = 5000;  // that a list, or the ranges of a spec, may stand for

struct HostRange {
  std::vector<std::string> names;  // in order; empty where something is wrong
  size_t wrong_at = 0;             // where, in the text
  std::string wrong;               // what; empty: nothing
};

// Whether it has brackets that are not around an address, as in "[fd00::1]".
bool IsHostRange(std::string_view text);

// A word without brackets is a range of that one name. As many digits as the first number of a
// range has.
HostRange ExpandHostRange(std::string_view text);

// The words between commas, but for those within brackets. They point into `text`.
std::vector<std::string_view> SplitHostList(std::string_view text);

// What is wrong with a list that has more.
std::string TooManyHosts();

}  // namespace autodist::spec
