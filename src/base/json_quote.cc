#include "base/json_quote.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace autodist::base {
namespace {

bool IsPlain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

}  // namespace

std::string JsonQuoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    // Most texts have only such characters.
    const auto plain = std::ranges::find_if_not(text, IsPlain);
    quoted.append(text.begin(), plain);
    text.remove_prefix(static_cast<size_t>(plain - text.begin()));
    if (text.empty()) break;
    const size_t length = std::max<size_t>(Utf8CharacterLength(text), 1);
    const std::string_view character = text.substr(0, length);
    const uint32_t code = CodePoint(character);
    if (code == '"' || code == '\\') {
      (quoted += '\\') += character;
    } else if (code == '\n') {
      quoted += "\\n";
    } else if (code == '\t') {
      quoted += "\\t";
    } else if (IsInvisible(code) || code == 0xFFFE || code == 0xFFFF) {
      char escaped[16];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
      quoted += escaped;
    } else {
      quoted += character;
    }
    text.remove_prefix(length);
  }
  return quoted + '"';
}

}  // namespace autodist::base
