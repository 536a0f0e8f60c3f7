// Parses config.toml: the subset of TOML that option defaults need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::cli {

// One `key = value`, for example in the table [run].
struct ConfigSetting {
  enum class Kind { kBoolean, kNumber, kText, kList };

  std::string table;  // "": before any table
  std::string key;    // '_' is replaced by '-'
  Kind kind = Kind::kText;
  std::vector<std::string> values;  // all of a list, else one; a boolean is "true" or "false"
  int line = 0;                     // from 1
};

// Accepts tables, comments, booleans, numbers, one-line strings, and lists of strings and numbers,
// also on several lines. An error names the line with anything else.
Result<std::vector<ConfigSetting>> ParseConfig(std::string_view text);

}  // namespace autodist::cli
