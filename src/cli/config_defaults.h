// Options that a user has set once for all in config.toml.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "cli/app.h"
#include "cli/config_text.h"

namespace autodist::cli {

// Options like "--grace=2m" for the command that `argv` begins with: those of its table, and those
// before any table that the command has. What `argv` has, or an option that excludes it, wins.
// A failure says in which line there is an option that no such command has, or a wrong value.
Result<std::vector<std::string>> DefaultArgv(const CLI::App& app,
                                             const std::vector<std::string>& argv,
                                             std::vector<ConfigSetting> settings);

// ${XDG_CONFIG_HOME:-~/.config}/autodist/config.toml; "" for a user without a home folder.
std::string ConfigPath();

// Of ConfigPath(); nothing where no such file is. Refuses one that others can write.
Result<std::vector<ConfigSetting>> ReadConfig(const std::string& path);

}  // namespace autodist::cli
