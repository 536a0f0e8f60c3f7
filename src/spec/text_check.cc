#include "spec/text_check.h"

#include <cstdio>

#include "base/utf8.h"

namespace autodist::spec {

std::optional<BadByte> FindBadByte(std::string_view text) {
  int line = 1;
  int column = 1;
  while (!text.empty()) {
    const size_t length = base::Utf8CharacterLength(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool control = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
    if (length == 0 || control) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "0x%02x", byte);
      return BadByte{line, column,
                     std::string("byte ") + hex + " is not " +
                         (control ? "allowed in a text file" : "valid UTF-8") +
                         "; a resource spec is a UTF-8 YAML text file"};
    }
    column = byte == '\n' ? 1 : column + 1;
    line += byte == '\n' ? 1 : 0;
    text.remove_prefix(length);
  }
  return std::nullopt;
}

}  // namespace autodist::spec
