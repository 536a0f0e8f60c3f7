// Removes terminal decoration from lines of programs.
#pragma once

#include <string>
#include <string_view>

namespace autodist::chief {

// Removes escape sequences that choose colours (ECMA-48: SGR). `buffer` holds the result if there
// were any.
std::string_view WithoutColours(std::string_view line, std::string& buffer);

// Returns the content of a line in a box drawn by rich, without its sides and blanks; other lines
// unchanged. The rules above and below a box yield only their title: "Traceback (most recent call
// last)".
std::string_view WithoutBox(std::string_view line);

}  // namespace autodist::chief
