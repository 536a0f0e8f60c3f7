// CLI11, by which the command line is read: all that includes it.
#pragma once

#include <CLI/CLI.hpp>
