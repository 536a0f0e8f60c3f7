// Checks and normalizes the characters of text files before a parser gets them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autodist::spec {

struct BadByte {
  int line;  // both from 1
  int column;
  std::string what;
};

// Returns the first invalid byte: invalid UTF-8, or a control character other than tab, line feed
// and carriage return.
std::optional<BadByte> FindBadByte(std::string_view text);

// Replaces blanks, dashes, quotes and full-width characters, as web pages and word processors have
// them, by those of ASCII.
std::string InAscii(std::string_view text);

}  // namespace autodist::spec
