// The short help of commands with many options.
#pragma once

#include "cli/app.h"

namespace autodist::cli {

// Hides all but the common options of `run` and `submit` from their help, and adds a line that
// names `--help all`. Leaves other commands as they are.
void HideUncommonOptions(CLI::App& command);

}  // namespace autodist::cli
