// Default options from the user's config.toml.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "cli/app.h"
#include "cli/config_text.h"

namespace autodist::cli {

// Returns options such as "--grace=2m" for the command in argv[0]: the settings in the command's
// table, and settings before any table if the command has the option. An option in `argv` overrides
// them, and so does one that excludes them. An error names the line of an unknown option or a wrong
// value.
Result<std::vector<std::string>> DefaultArgv(const CLI::App& app,
                                             const std::vector<std::string>& argv,
                                             std::vector<ConfigSetting> settings);

// Returns ${XDG_CONFIG_HOME:-~/.config}/autodist/config.toml; "" for a user without a home folder.
std::string ConfigPath();

// Reads config.toml; no settings if it is missing. Rejects a file that other users can write.
Result<std::vector<ConfigSetting>> ReadConfig(const std::string& path);

}  // namespace autodist::cli
