// Quotes text of a spec's author for messages.
#pragma once

#include <string>
#include <string_view>

namespace autodist::spec {

// Returns `text` in quotes, shortened, with control characters escaped.
std::string Quoted(std::string_view text);

}  // namespace autodist::spec
