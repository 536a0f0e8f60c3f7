// Makes one picture on a terminal of another: what to write for the cells that have changed.
#pragma once

#include <string>

#include "top/frame.h"

namespace autodist::top {

enum class Colours { kNone, kNamed, kAll };  // 0, 8, 256

// What the terminal has, by TERM, COLORTERM and NO_COLOR (no-color.org); each may be null.
Colours ColoursOf(const char* term, const char* colour_term, const char* no_colour);

// Writes only sequences of ECMA-48 that every terminal of the last decades obeys, and whose
// meaning does not differ between them: no database of terminals is needed, and none has to be on
// the machine. Not thread-safe.
class Painter {
 public:
  explicit Painter(Colours colours) : colours_(colours) {}

  // Empty where nothing has changed.
  std::string Draw(const Frame& next);
  // What the terminal shows is not known any more: the next picture is drawn whole.
  void Forget() { shown_ = {}; }

 private:
  void DrawRow(const Frame& next, int row, std::string& text);
  void SetStyle(const Style& style, std::string& text);

  const Colours colours_;
  Frame shown_;
  Style style_{};  // that the terminal has now
};

}  // namespace autodist::top
