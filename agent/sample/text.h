// Parses text files of the kernel word by word. Never allocates.
#pragma once

#include <string_view>

#include "base/parse_number.h"

namespace autodist::agent {

// Removes the first line from `text`; returns it without its end.
inline std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  return line;
}

// Removes the first word, and the blanks before it; returns "" at the end.
inline std::string_view TakeWord(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = line.find_first_not_of(kBlanks);
  line.remove_prefix(begin == std::string_view::npos ? line.size() : begin);
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

using base::ParseNumber;

// Removes the next word, and parses it as a number; 0 if it is none.
template <typename Number>
Number TakeNumber(std::string_view& line) {
  return ParseNumber<Number>(TakeWord(line)).value_or(0);
}

inline void SkipWords(std::string_view& line, int count) {
  for (int i = 0; i < count; ++i) TakeWord(line);
}

}  // namespace autodist::agent
