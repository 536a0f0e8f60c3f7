// The text files by which the kernel tells how it is, word by word. Nothing here allocates.
#pragma once

#include <string_view>

#include "base/parse_number.h"

namespace autodist::agent {

// Takes a line from the beginning of `text`, without its end.
inline std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

// Likewise a word, and the blanks before it; "" if there is none.
inline std::string_view TakeWord(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = line.find_first_not_of(kBlanks);
  line.remove_prefix(begin == std::string_view::npos ? line.size() : begin);
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

using base::ParseNumber;

// A number that is the next word; 0 where that is none.
template <typename Number>
Number TakeNumber(std::string_view& line) {
  return ParseNumber<Number>(TakeWord(line)).value_or(0);
}

inline void SkipWords(std::string_view& line, int count) {
  for (int i = 0; i < count; ++i) TakeWord(line);
}

}  // namespace autodist::agent
