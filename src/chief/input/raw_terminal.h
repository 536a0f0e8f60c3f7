// This process's terminal in raw mode: each key is a byte that is read, and nothing else happens.
#pragma once

#include <memory>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"

namespace autodist::chief {

// One at a time in a process.
class RawTerminal {
 public:
  // Whether stdin is a terminal, and we are in its foreground: what is typed there is for us.
  static bool IsOurs();
  static v1::TerminalSize Size();  // 0 × 0: not known

  // What this process says itself from now on begins at the left margin all the same.
  static Result<std::unique_ptr<RawTerminal>> Enter();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() { Restore(); }

  // The mode as it was before Enter; nothing where that is the one. For signal handlers, too.
  static void Restore();

 private:
  RawTerminal() = default;
};

}  // namespace autodist::chief
