// The text of config.toml: the part of TOML that defaults of options need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::cli {

// `key = value` in a table, [run] say.
struct ConfigSetting {
  enum class Kind { kBoolean, kNumber, kText, kList };

  std::string table;  // "": before any table
  std::string key;    // with '-' for '_'
  Kind kind = Kind::kText;
  std::vector<std::string> values;  // of a list all, else one; "true" or "false" of a boolean
  int line = 0;                     // from 1
};

// Tables, comments, booleans, numbers, strings in one line, and lists of strings and numbers, in
// several lines too. A failure says in which line there is anything else.
Result<std::vector<ConfigSetting>> ParseConfig(std::string_view text);

}  // namespace autodist::cli
