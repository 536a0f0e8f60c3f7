// Options as they were given, to be given again.
#pragma once

#include <string>
#include <vector>

#include "cli/app.h"

namespace autodist::cli {

// A word for each: "--sync", "--grace=120". `options` have been parsed.
std::vector<std::string> Given(const std::vector<const CLI::Option*>& options);

}  // namespace autodist::cli
