#include "display/row_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/text_width.h"
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
    const size_t width = code == '\t' ? kTabWidth - used % kTabWidth : base::ColumnsOf(code);
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
