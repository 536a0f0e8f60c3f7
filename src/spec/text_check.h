// Finds bytes that no text file has, before a YAML parser sees them.
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

// The first byte that no text file has: invalid UTF-8, or a control character other than tab,
// line feed and carriage return.
std::optional<BadByte> FindBadByte(std::string_view text);

}  // namespace autodist::spec
