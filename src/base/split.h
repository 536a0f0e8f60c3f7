// Splits a text at a separator, or into lines.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace autodist::base {

// Returns one part more than there are separators; parts may be empty. They point into `text`.
inline std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Returns the lines that are not empty.
inline std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines = Split(text, '\n');
  std::erase(lines, "");
  return lines;
}

// Returns the first line without its line feed; it points into `text`.
inline std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

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
