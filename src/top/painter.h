// Updates a terminal: returns the bytes to write for the cells that changed.
#pragma once

#include <string>

#include "top/frame.h"

namespace autodist::top {

enum class Colours { kNone, kNamed, kAll };  // 0, 8, 256

// The terminal's colors by TERM, COLORTERM and NO_COLOR (no-color.org); each may be null.
Colours ColoursOf(const char* term, const char* colour_term, const char* no_colour);

// Uses only ECMA-48 sequences that common terminals support with the same meaning, so no terminal
// database is needed on the machine. Not thread-safe.
class Painter {
 public:
  explicit Painter(Colours colours) : colours_(colours) {}

  // Empty if nothing has changed.
  std::string Draw(const Frame& next);
  // The terminal's content is unknown: the next frame is drawn in full.
  void Forget() { shown_ = {}; }

 private:
  void DrawRow(const Frame& next, int row, std::string& text);
  void SetStyle(const Style& style, std::string& text);

  const Colours colours_;
  Frame shown_;
  Style style_{};  // the terminal's current style
};

}  // namespace autodist::top
