#include "base/utf8.h"

#include <algorithm>
#include <cstdio>

namespace autodist::base {
namespace {

constexpr size_t kMaxCharacter = 4;  // bytes

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Returns where the character begins that a cut at this offset would split; `at` if it splits none,
// as among bytes that are not UTF-8.
size_t CharacterBegin(std::string_view text, size_t at) {
  for (size_t before = 1; before < kMaxCharacter && before <= at; ++before) {
    if (Utf8CharacterLength(text.substr(at - before)) > before) return at - before;
  }
  return at;
}

// `lines`: keeps the characters that separate lines and columns.
std::string WithoutControl(std::string_view text, bool lines) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    const uint32_t code =
        length == 0 ? static_cast<unsigned char>(character[0]) : CodePoint(character);
    char escaped[16] = "";
    if (lines && text.starts_with("\r\n")) {
      text.remove_prefix(1);
      continue;
    }
    if (lines && (code == '\n' || code == '\t')) {
      // as it is
    } else if (length > 0 && (code == '\n' || code == '\r' || code == '\t')) {
      std::snprintf(escaped, sizeof escaped, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
    } else if (length == 0 || (IsInvisible(code) && code < 0x80)) {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", code);
    } else if (IsInvisible(code)) {
      std::snprintf(escaped, sizeof escaped, "\\u%04x", code);
    }
    printable += escaped[0] ? std::string_view(escaped) : character;
    text.remove_prefix(character.size());
  }
  return printable;
}

}  // namespace

bool IsInvisible(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

uint32_t CodePoint(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  uint32_t code = character.size() == 1 ? lead : lead & (0x7Fu >> character.size());
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3F);
  }
  return code;
}

size_t Utf8CharacterLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!ContinuesCharacter(text[i])) return 0;
  }
  const uint32_t code = CodePoint(text.substr(0, length));
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

bool IsUtf8(std::string_view text) { return ToUtf8(text) == text; }

std::string ToUtf8(std::string_view text) {
  std::string well_formed;
  well_formed.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    well_formed += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return well_formed;
}

std::string ToUtf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) return ToUtf8(text);
  constexpr std::string_view kCut = " (cut here)";
  return ToUtf8(FirstCharacters(text, limit - std::min(limit, kCut.size()))).append(kCut);
}

std::string_view FirstCharacters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  return text.substr(0, CharacterBegin(text, limit));
}

std::string_view LastCharacters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  const size_t cut = text.size() - limit;
  const size_t begin = CharacterBegin(text, cut);
  return text.substr(begin == cut ? cut : begin + Utf8CharacterLength(text.substr(begin)));
}

std::string Truncated(std::string_view text, size_t limit) {
  constexpr std::string_view kCut = "…";
  if (text.size() <= limit) return std::string(text);
  return std::string(FirstCharacters(text, limit - std::min(limit, kCut.size()))).append(kCut);
}

std::string Printable(std::string_view text) { return WithoutControl(text, false); }

std::string PrintableLines(std::string_view text) { return WithoutControl(text, true); }

}  // namespace autodist::base
