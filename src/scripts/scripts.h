// Shell programs that run on nodes: the files of this folder, which are embedded. Pure functions.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace autodist::scripts {

// The file as one word of a command line: without comments, its lines joined by spaces, as some
// login shells pass on no line feed. So each line of a file ends its command, by ";" say; only a
// here-document has lines of its own.
std::string OneLine(std::string_view file);

// The files of these names, without ".sh", one behind the other.
std::string Script(std::initializer_list<std::string_view> names);

}  // namespace autodist::scripts
