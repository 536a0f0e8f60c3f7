// Ranges of host names, as Slurm and pdsh write them: "gpu[01-16,20]", "rack[1-2]n[1-4]",
// "10.0.0.[1-8]".
//
// Pure functions; a range of more than kMaxHosts is rejected before it is expanded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::spec {

inline constexpr size_t kMaxHosts = 5000;  // of a list, or of all ranges of a spec

struct HostRange {
  std::vector<std::string> names;  // in order; empty after an error
  size_t wrong_at = 0;             // its offset in the text
  std::string wrong;               // the error; empty: none
};

// Whether it has brackets, other than those around an address as in "[fd00::1]".
bool IsHostRange(std::string_view text);

// Expands a range; text without brackets is a range of one name. Numbers are padded to the width of
// the first number of the range.
HostRange ExpandHostRange(std::string_view text);

// Splits at commas outside of brackets. The parts point into `text`.
std::vector<std::string_view> SplitHostList(std::string_view text);

// Returns the error for a longer list.
std::string TooManyHosts();

}  // namespace autodist::spec
