#include "spec/text_check.h"

#include <algorithm>
#include <cstdint>
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

std::string InAscii(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, base::Utf8CharacterLength(text));
    const std::string_view character = text.substr(0, length);
    const uint32_t code = length > 1 ? base::CodePoint(character) : 0;
    const auto within = [code](uint32_t first, uint32_t last) {
      return code >= first && code <= last;
    };
    if (within(0xff01, 0xff5e)) {
      plain += static_cast<char>(code - 0xfee0);
    } else if (code == 0xa0 || within(0x2000, 0x200b) || code == 0x202f || code == 0x205f ||
               code == 0x2060 || code == 0x3000 || code == 0xfeff) {
      plain += ' ';
    } else if (within(0x2010, 0x2015) || code == 0x2212) {
      plain += '-';
    } else if (code == 0x201c || code == 0x201d) {
      plain += '"';
    } else if (code == 0x2018 || code == 0x2019) {
      plain += '\'';
    } else {
      plain += character;
    }
    text.remove_prefix(length);
  }
  return plain;
}

}  // namespace autodist::spec
