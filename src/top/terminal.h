// The terminal of the window, and the bytes that draw a frame on it.
#pragma once

#include <termios.h>

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"
#include "top/frame.h"

namespace autodist::top {

struct Size {
  int columns = 80;
  int rows = 24;
};

// This process's terminal in full-screen mode: raw mode, alternate screen, keys and size. One
// instance per process; not thread-safe. Output is buffered until the terminal accepts it: only
// Leave blocks, for a second at most.
class Terminal {
 public:
  // kFailedPrecondition: no terminal, or it cannot place a cursor; says why.
  static Result<std::unique_ptr<Terminal>> Open();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { Leave(); }

  int fd() const { return tty_.get(); }  // for poll()
  Size size() const;

  // Enters raw mode and the alternate screen; restores the terminal. Both may be called at any
  // time.
  void Enter();
  void Leave();

  // Reads input; false: the terminal has gone.
  bool Read(std::string& bytes) const;

  void Write(std::string_view text);
  // Writes as much as the terminal accepts; false: the terminal has gone.
  bool Flush();
  bool busy() const { return !pending_.empty(); }

 private:
  explicit Terminal(base::UniqueFd tty) : tty_(std::move(tty)) {}

  base::UniqueFd tty_;  // opened again, so that only this descriptor is non-blocking
  bool entered_ = false;
  termios before_{};
  std::string pending_;
};

enum class Colours { kNone, kNamed, kAll };  // 0, 8, 256

// The terminal's colors by TERM, COLORTERM and NO_COLOR (no-color.org); each may be null.
Colours ColoursOf(const char* term, const char* colour_term, const char* no_colour);

// Updates a terminal: returns the bytes to write for the cells that changed. Uses only ECMA-48
// sequences that common terminals support with the same meaning, so no terminal database is needed
// on the machine. Not thread-safe.
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
