// Small letters for capital ones.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace autodist::base {

inline std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace autodist::base
