// Puts this process's terminal into raw mode: each key is read as a byte, and has no other effect.
#pragma once

#include <memory>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"

namespace autodist::chief {

// At most one exists in a process.
class RawTerminal {
 public:
  // Returns whether stdin is a terminal and this process is in its foreground, so receives its
  // input.
  static bool IsOurs();
  static v1::TerminalSize Size();  // 0 × 0: unknown

  // Enters raw mode. This process's own messages still begin at the left margin.
  static Result<std::unique_ptr<RawTerminal>> Enter();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() { Restore(); }

  // Restores the mode from before Enter; does nothing if it is active. Async-signal-safe.
  static void Restore();

 private:
  RawTerminal() = default;
};

}  // namespace autodist::chief
