#include "display/row_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/utf8.h"

namespace autodist::display {
namespace {

constexpr size_t kTabWidth = 8;

// The length of the escape sequence at the beginning of `text`; all of it if incomplete.
size_t SequenceLength(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^' || text[1] == 'X') {
    // A string that ends with BEL or ESC '\'.
    const size_t end = text.find_first_of("\x07\x1b", 2);
    if (end == text.npos) return text.size();
    return text[end] == '\x1b' ? std::min(end + 2, text.size()) : end + 1;
  }
  if (text[1] != '[') return 2;
  for (size_t i = 2; i < text.size(); ++i) {
    if (text[i] >= 0x40 && text[i] <= 0x7E) return i + 1;
  }
  return text.size();
}

bool IsColour(std::string_view sequence) {
  return sequence.starts_with("\x1b[") && sequence.ends_with('m') &&
         sequence.find_first_not_of("0123456789;:", 2) == sequence.size() - 1;
}

}  // namespace

size_t ColumnsOf(uint32_t code) {
  struct Range {
    uint32_t first, last;
    size_t columns;
  };
  static constexpr Range kOthers[] = {
      {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2}, {0x200B, 0x200F, 0}, {0x20D0, 0x20FF, 0},
      {0x2E80, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2}, {0xF900, 0xFAFF, 2}, {0xFE00, 0xFE0F, 0},
      {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2}, {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1FAFF, 2},
      {0x20000, 0x3FFFD, 2},
  };
  for (const Range& range : kOthers) {
    if (code >= range.first && code <= range.last) return range.columns;
  }
  return 1;
}

std::string Harmless(std::string_view text) {
  return Cut(text, std::numeric_limits<size_t>::max());
}

std::string Cut(std::string_view text, size_t columns) {
  std::string cut;
  for (size_t used = 0; !text.empty();) {
    if (text[0] == '\x1b') {
      const std::string_view sequence = text.substr(0, SequenceLength(text));
      if (IsColour(sequence)) cut += sequence;
      text.remove_prefix(sequence.size());
      continue;
    }
    const size_t length = base::Utf8CharacterLength(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(character.size());
    const uint32_t code = length == 0 ? '?' : base::CodePoint(character);
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    if (control && code != '\t') continue;
    const size_t width = code == '\t' ? kTabWidth - used % kTabWidth : ColumnsOf(code);
    if (used + width > columns) break;
    used += width;
    if (code == '\t' && columns != std::numeric_limits<size_t>::max()) {
      cut.append(width, ' ');
    } else {
      cut += length == 0 ? "?" : character;
    }
  }
  return cut;
}

std::string BarLabel(std::string_view bar) {
  const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
  const size_t percent = bar.find('%');
  size_t end = percent;
  if (percent == bar.npos) {
    end = static_cast<size_t>(std::ranges::find_if(bar, is_digit) - bar.begin());
  } else {
    while (end > 0 && (is_digit(bar[end - 1]) || bar[end - 1] == '.')) --end;
  }
  std::string_view label = bar.substr(0, end);
  // Dots that are added one by one do not make it a different bar.
  while (label.ends_with(' ') || label.ends_with('.')) label.remove_suffix(1);
  return std::string(label);
}

}  // namespace autodist::display
