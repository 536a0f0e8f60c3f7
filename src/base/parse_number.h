// A number that is a whole text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace autodist::base {

// nullopt: the text is no such number, or not that alone. `base`: as std::from_chars has it, of an
// integer. Nothing here allocates.
template <typename Number, typename... Base>
std::optional<Number> ParseNumber(std::string_view text, Base... base) {
  Number number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number, base...);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return number;
}

}  // namespace autodist::base
