// Lines as a program meant them, without what makes them beautiful on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace autodist::chief {

// Without escape sequences that choose colours (ECMA-48: SGR). `buffer` holds what is returned
// where there were any.
std::string_view WithoutColours(std::string_view line, std::string& buffer);

// What stands in a box that rich has drawn, without its sides and the blanks at them; the line as
// it is where it is of no box. A rule above or below one is all lines and a title: "Traceback (most
// recent call last)".
std::string_view WithoutBox(std::string_view line);

}  // namespace autodist::chief
