// Quotes what a spec's author wrote, for messages.
#pragma once

#include <string>
#include <string_view>

namespace autodist::spec {

// `text` in quotes, shortened, and with its control characters made visible.
std::string Quoted(std::string_view text);

}  // namespace autodist::spec
