// This process's terminal while a picture is on it: raw mode, the alternate screen, keys, size.
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

// One at a time in a process; for one thread. What is written is kept until the terminal takes it:
// nothing here blocks but Leave, for a second at most.
class Terminal {
 public:
  // kFailedPrecondition: there is none, or it cannot show pictures, and why.
  static Result<std::unique_ptr<Terminal>> Open();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { Leave(); }

  int fd() const { return tty_.get(); }  // to be polled
  Size size() const;

  // Raw mode and the alternate screen; as it was before. Each may be called at any time.
  void Enter();
  void Leave();

  // What has been typed; false: the terminal has gone.
  bool Read(std::string& bytes) const;

  void Write(std::string_view text);
  // Writes of it what the terminal takes; false: the terminal has gone.
  bool Flush();
  bool busy() const { return !pending_.empty(); }

 private:
  explicit Terminal(base::UniqueFd tty) : tty_(std::move(tty)) {}

  base::UniqueFd tty_;  // opened anew: only for us it does not block
  bool entered_ = false;
  termios before_{};
  std::string pending_;
};

}  // namespace autodist::top
