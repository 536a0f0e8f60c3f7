// How what is shown of a process is laid out.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/split.h"
#include "base/utf8.h"

namespace autodist::agent {

// The lines of `text`, each printable and after `indent`.
inline std::string Indented(std::string_view text, const std::string& indent) {
  std::string lines;
  for (const std::string_view line : base::Lines(text)) {
    lines += indent + base::Printable(line) + "\n";
  }
  return lines;
}

// Of no more than `limit` bytes, but for the words that say so.
inline std::string Cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  text.resize(limit);
  return text + " (cut here)\n";
}

}  // namespace autodist::agent
