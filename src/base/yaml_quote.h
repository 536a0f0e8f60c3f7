// Texts in YAML.
#pragma once

#include <string>
#include <string_view>

namespace autodist::base {

// A text, UTF-8, as a scalar in double quotes: on one line, whatever it holds.
std::string YamlQuote(std::string_view text);

}  // namespace autodist::base
