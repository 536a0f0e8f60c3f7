// Takes texts apart from their beginning on.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace autodist::base {

// Returns whether the text begins so; then removes it.
inline bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes the number at the beginning of the text; nullopt: it is missing or too large.
template <typename Number>
std::optional<Number> TakeNumber(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace autodist::base
