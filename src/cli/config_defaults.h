// Default options from the user's config.toml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "cli/app.h"

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

// Parses config.toml: the subset of TOML that option defaults need. Accepts tables, comments,
// booleans, numbers, one-line strings, and lists of strings and numbers, also on several lines. An
// error names the line with anything else.
Result<std::vector<ConfigSetting>> ParseConfig(std::string_view text);

// Returns options such as "--grace=2m" for the command in argv[0]: the settings in the command's
// table, and settings before any table if the command has the option. An option in `argv` overrides
// them, and so does one that excludes them. An error names the line of an unknown option or a wrong
// value.
Result<std::vector<std::string>> DefaultArgv(const CLI::App& app,
                                             const std::vector<std::string>& argv,
                                             const std::vector<ConfigSetting>& settings);

// Returns ${XDG_CONFIG_HOME:-~/.config}/autodist/config.toml; "" for a user without a home folder.
std::string ConfigPath();

// Reads config.toml; no settings if it is missing. Rejects a file that other users can write.
Result<std::vector<ConfigSetting>> ReadConfig(const std::string& path);

}  // namespace autodist::cli
