// Quotes text for JSON and YAML.
#pragma once

#include <string>
#include <string_view>

namespace autodist::base {

// Returns the text on one line, with quotes, and escapes control characters and what YAML 1.1 (5.1
// and 5.4) does not accept literally. The text must be UTF-8.
std::string JsonQuoted(std::string_view text);

}  // namespace autodist::base
