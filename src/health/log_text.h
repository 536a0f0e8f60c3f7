// Takes the lines of a kernel log apart. All text is untrusted.
#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "base/parse_number.h"

namespace autodist::health {

// Returns what follows `begin`; nullopt: the line lacks it.
inline std::optional<std::string_view> After(std::string_view line, std::string_view begin) {
  const size_t found = line.find(begin);
  if (found == std::string_view::npos) return std::nullopt;
  return line.substr(found + begin.size());
}

// Returns the number at the beginning; 0 without one.
template <typename Number>
Number NumberAt(std::string_view text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return base::ParseNumber<Number>(std::string_view(text.begin(), end)).value_or(0);
}

// Returns the first 40 bytes, of these only letters, digits and `others`.
inline std::string OnlyNameOf(std::string_view text, std::string_view others = ":.-_") {
  constexpr size_t kMaxName = 40;
  std::string name;
  for (const char c : text.substr(0, kMaxName)) {
    const bool usual = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (usual || others.find(c) != std::string_view::npos) name.push_back(c);
  }
  return name;
}

}  // namespace autodist::health
