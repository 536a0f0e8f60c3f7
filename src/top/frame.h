// The content of the whole window: rows of cells of one character each. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::top {

// The 8 colors that every theme defines, by their ECMA-48 numbers; other numbers are those of a
// 256-color terminal.
inline constexpr int16_t kPlain = -1;  // the terminal's default
inline constexpr int16_t kBlack = 0;
inline constexpr int16_t kRed = 1;
inline constexpr int16_t kYellow = 3;
inline constexpr int16_t kMagenta = 5;
inline constexpr int16_t kCyan = 6;

struct Style {
  int16_t fore = kPlain;
  int16_t back = kPlain;
  bool bold = false;
  bool reverse = false;
  bool faint = false;

  bool operator==(const Style&) const = default;
};

inline constexpr Style kInk{};
inline constexpr Style kStrong{.bold = true};
inline constexpr Style kLabel{.fore = 245, .faint = true};  // secondary text
inline constexpr Style kAccent{.fore = kCyan};

struct Cell {
  uint32_t glyph = U' ';  // a character; 0: the right half of the previous cell
  Style style{};

  bool operator==(const Cell&) const = default;
};

class Frame {
 public:
  Frame() = default;
  Frame(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  const Cell& at(int row, int column) const { return cells_[Index(row, column)]; }

  // The text is untrusted: escapes control characters, those that change the direction of text, and
  // invalid UTF-8, as in "\x1b"; drops combining marks. Cuts the text at `end`. Returns the column
  // after it.
  int Put(int row, int column, int end, std::string_view text, const Style& style);
  // A character of one column.
  void Set(int row, int column, uint32_t glyph, const Style& style);
  // Sets the background of these cells.
  void Paint(int row, int column, int end, const Style& style);

  // The rows as text without trailing blanks, each with a line feed.
  std::string Text() const;

 private:
  size_t Index(int row, int column) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  int columns_ = 0;
  int rows_ = 0;
  std::vector<Cell> cells_;
};

// A rectangle of a frame, which must outlive it. Rows and columns count from its corner; drawing is
// clipped to it.
class Area {
 public:
  explicit Area(Frame& frame) : Area(frame, 0, 0, frame.columns(), frame.rows()) {}

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  Area Rows(int first, int count) const { return Part(first, 0, columns_, count); }
  Area Columns(int first, int count) const { return Part(0, first, count, rows_); }

  // As Frame::Put.
  int Put(int row, int column, std::string_view text, const Style& style = kInk) const {
    return PutWithin(row, column, columns_, text, style);
  }
  int PutWithin(int row, int column, int end, std::string_view text,
                const Style& style = kInk) const;
  // Aligns the text so that it ends before `end`.
  void PutRight(int row, int end, std::string_view text, const Style& style = kInk) const;
  void Set(int row, int column, uint32_t glyph, const Style& style = kInk) const;
  void Paint(int row, int column, int end, const Style& style) const;

 private:
  Area(Frame& frame, int row, int column, int columns, int rows)
      : frame_(&frame), row_(row), column_(column), columns_(columns), rows_(rows) {}
  Area Part(int row, int column, int columns, int rows) const;

  Frame* frame_;
  int row_;
  int column_;
  int columns_;
  int rows_;
};

// Encodes as UTF-8.
void AppendCharacter(std::string& text, uint32_t code);

// The number of columns that Put fills.
int WidthOf(std::string_view text);

}  // namespace autodist::top
