// Shell programs that run on nodes: the embedded files of this folder. Pure functions.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace autodist::scripts {

// Converts the file to one command-line argument: removes comments and joins lines with spaces,
// because some login shells do not pass on line feeds. So each line of a file must end its command,
// for example by ";"; only a here-document keeps its lines.
std::string OneLine(std::string_view file);

// Concatenates the files of these names, which lack ".sh".
std::string Script(std::initializer_list<std::string_view> names);

}  // namespace autodist::scripts
