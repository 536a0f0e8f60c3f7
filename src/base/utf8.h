// UTF-8 as RFC 3629 defines it: checked, repaired, and made safe to print on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::base {

// The length in bytes of the well-formed character that starts `text`; 0 if none does.
size_t Utf8CharacterLength(std::string_view text);
// Of one such character.
uint32_t CodePoint(std::string_view character);
// Control characters, and those that change the direction of text or join what stands beside them.
bool IsInvisible(uint32_t code);

bool IsUtf8(std::string_view text);

// With '?' for every byte that is part of no character.
std::string ToUtf8(std::string_view text);
// The same, of no more than `limit` bytes: it ends by saying so where it had more.
std::string ToUtf8(std::string_view text, size_t limit);

// `text` for a message: on one line, and without anything that a terminal would obey. Control
// characters, those that change the direction of text, and bytes that are not UTF-8 are written
// as in "\n", "\x1b" and "\u202e".
std::string Printable(std::string_view text);

// The same for text of several lines: line feeds and tabs stay as they are, and
// \r\n ends a line, too.
std::string PrintableLines(std::string_view text);

}  // namespace autodist::base
