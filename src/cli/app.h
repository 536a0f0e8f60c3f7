// Includes CLI11, the command line parser.
#pragma once

#include <CLI/CLI.hpp>
