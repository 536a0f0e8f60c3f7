// Parses a text that consists of one number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace autodist::base {

// Returns nullopt if the text is not a number or has anything after it. `base`: of an integer, as
// in std::from_chars. Never allocates.
template <typename Number, typename... Base>
std::optional<Number> ParseNumber(std::string_view text, Base... base) {
  Number number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number, base...);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return number;
}

}  // namespace autodist::base
