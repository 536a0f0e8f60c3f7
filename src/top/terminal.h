// The terminal of this process in full-screen mode: raw mode, alternate screen, keys and size.
#pragma once

#include <termios.h>

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::top {

struct Size {
  int columns = 80;
  int rows = 24;
};

// One instance per process; not thread-safe. Output is buffered until the terminal accepts it: only
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

}  // namespace autodist::top
