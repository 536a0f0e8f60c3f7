// Quotes arguments for a POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

// Leaves plain text unchanged; puts everything else in single quotes.
std::string ShellQuote(std::string_view argument);

// Joins the quoted arguments with spaces.
std::string ShellLine(const std::vector<std::string>& argv);

}  // namespace autodist::base
