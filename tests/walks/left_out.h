// What the parts that left_out.cc replaces pass on.
#pragma once

#include <string>

namespace autodist::walks {

// Takes a message of autodist.
void Note(const std::string& text);

}  // namespace autodist::walks
