// Text as JSON has it.
#pragma once

#include <string>
#include <string_view>

namespace autodist::base {

// With the quotes, and without anything that a terminal would obey. Text has to be UTF-8.
std::string JsonQuoted(std::string_view text);

}  // namespace autodist::base
