// Formats the text about a process.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/split.h"
#include "base/utf8.h"

namespace autodist::agent {

// Returns the lines of `text`, made printable, each after `indent`.
inline std::string Indented(std::string_view text, const std::string& indent) {
  std::string lines;
  for (const std::string_view line : base::Lines(text)) {
    lines += indent + base::Printable(line) + "\n";
  }
  return lines;
}

// Truncates to `limit` bytes, plus a note about it.
inline std::string Cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  text.resize(limit);
  return text + " (cut here)\n";
}

}  // namespace autodist::agent
