// UTF-8 as RFC 3629 defines it: validation, repair, and escaping for terminals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autodist::base {

// Returns the length in bytes of the well-formed character that starts `text`; 0 if none does.
size_t Utf8CharacterLength(std::string_view text);
// Decodes one such character.
uint32_t CodePoint(std::string_view character);
// Whether it is a control character, or one that changes the text direction or joins its
// neighbours.
bool IsInvisible(uint32_t code);

bool IsUtf8(std::string_view text);

// Returns the beginning of `text` of at most `limit` bytes that does not end within a character; ""
// if the first one is longer.
std::string_view FirstCharacters(std::string_view text, size_t limit);
// The end of at most `limit` bytes, which does not begin within a character.
std::string_view LastCharacters(std::string_view text, size_t limit);
// Shortens a longer text to its first characters and "…", together at most `limit` bytes.
std::string Truncated(std::string_view text, size_t limit);

// Replaces every byte that is not part of a character with '?'.
std::string ToUtf8(std::string_view text);
// The same, truncated to `limit` bytes; a truncated text ends with a note about it.
std::string ToUtf8(std::string_view text, size_t limit);

// Formats `text` for a message: on one line, without terminal control. Control characters,
// characters that change the text direction, and bytes that are not UTF-8 are escaped as in "\n",
// "\x1b" and "\u202e".
std::string Printable(std::string_view text);

// The same for text of several lines: line feeds and tabs are kept, and \r\n becomes a line feed.
std::string PrintableLines(std::string_view text);

}  // namespace autodist::base
