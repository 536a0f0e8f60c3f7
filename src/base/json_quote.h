// Text as JSON has it, and YAML, too.
#pragma once

#include <string>
#include <string_view>

namespace autodist::base {

// With the quotes, on one line, and without anything that a terminal would obey, or that YAML 1.1
// (5.1 and 5.4) does not take as it is. Text has to be UTF-8.
std::string JsonQuoted(std::string_view text);

}  // namespace autodist::base
