#include "top/frame.h"

#include <algorithm>

#include "base/text_width.h"
#include "base/utf8.h"

namespace autodist::top {
namespace {

// Calls `take(code, columns)` for each character, until it returns false.
template <typename Take>
void ForEachCharacter(std::string_view text, const Take& take) {
  const auto plain = [](char byte) { return byte >= 0x20 && byte < 0x7F; };
  std::string escaped;
  if (!std::ranges::all_of(text, plain)) text = escaped = base::Printable(text);
  while (!text.empty()) {
    const std::string_view character = text.substr(0, base::Utf8CharacterLength(text));
    const uint32_t code = base::CodePoint(character);
    const int columns = static_cast<int>(base::ColumnsOf(code));
    if (columns > 0 && !take(code, columns)) return;
    text.remove_prefix(character.size());
  }
}

}  // namespace

int Frame::Put(int row, int column, int end, std::string_view text, const Style& style) {
  if (row < 0 || row >= rows_ || column < 0) return column;
  end = std::min(end, columns_);
  ForEachCharacter(text, [&](uint32_t code, int width) {
    if (column + width > end) return false;
    cells_[Index(row, column)] = {code, style};
    if (width == 2) cells_[Index(row, column + 1)] = {0, style};
    column += width;
    return true;
  });
  return column;
}

void Frame::Set(int row, int column, uint32_t glyph, const Style& style) {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return;
  cells_[Index(row, column)] = {glyph, style};
}

void Frame::Paint(int row, int column, int end, const Style& style) {
  if (row < 0 || row >= rows_) return;
  for (column = std::max(column, 0); column < std::min(end, columns_); ++column) {
    Style& now = cells_[Index(row, column)].style;
    if (style.back != kPlain) now.back = style.back;
    if (style.reverse) now.reverse = true;
  }
}

std::string Frame::Text() const {
  std::string text;
  for (int row = 0; row < rows_; ++row) {
    int end = columns_;
    while (end > 0 && at(row, end - 1).glyph == U' ') --end;
    for (int column = 0; column < end; ++column) {
      if (const uint32_t glyph = at(row, column).glyph) AppendCharacter(text, glyph);
    }
    text += '\n';
  }
  return text;
}

Area Area::Part(int row, int column, int columns, int rows) const {
  row = std::clamp(row, 0, rows_);
  column = std::clamp(column, 0, columns_);
  return {*frame_, row_ + row, column_ + column, std::clamp(columns, 0, columns_ - column),
          std::clamp(rows, 0, rows_ - row)};
}

int Area::PutWithin(int row, int column, int end, std::string_view text, const Style& style) const {
  if (row < 0 || row >= rows_ || column < 0) return column;
  return frame_->Put(row_ + row, column_ + column, column_ + std::min(end, columns_), text, style) -
         column_;
}

void Area::PutRight(int row, int end, std::string_view text, const Style& style) const {
  PutWithin(row, std::max(end - WidthOf(text), 0), end, text, style);
}

void Area::Set(int row, int column, uint32_t glyph, const Style& style) const {
  if (row < 0 || row >= rows_ || column < 0 || column >= columns_) return;
  frame_->Set(row_ + row, column_ + column, glyph, style);
}

void Area::Paint(int row, int column, int end, const Style& style) const {
  if (row < 0 || row >= rows_) return;
  frame_->Paint(row_ + row, column_ + std::max(column, 0), column_ + std::min(end, columns_),
                style);
}

void AppendCharacter(std::string& text, uint32_t code) {
  const auto byte = [&](uint32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

int WidthOf(std::string_view text) {
  int width = 0;
  ForEachCharacter(text, [&](uint32_t, int columns) {
    width += columns;
    return true;
  });
  return width;
}

}  // namespace autodist::top
