// Writing an argument so that a POSIX shell reads it back unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

// Plain words stay as they are; everything else is put in single quotes.
std::string ShellQuote(std::string_view argument);

// The arguments, quoted, with a space between each.
std::string ShellLine(const std::vector<std::string>& argv);

}  // namespace autodist::base
