// Running in the background: forking a process that has no terminal any more.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::process {

// What the process at the terminal learns of the one that was split off.
struct DetachOutcome {
  bool running = false;  // it has called Started, and goes on
  int exit_code = 0;     // to end with: 0, or that with which it has ended; 128 + n by signal n
};

// In the process that has been split off. It belongs to no terminal: Ctrl-C and the end of the
// session do not reach it. Until Started it writes to the same stdout and stderr.
class Detached {
 public:
  // Forks, so call it before any other thread is started. Returns twice: at once in the new
  // process, and in the old one, for which Detached is not, when the new one has called Started or
  // has ended. Until then the old one passes on SIGINT, SIGTERM and SIGQUIT; the terminal's end
  // ends the old one alone.
  static Result<std::variant<DetachOutcome, std::unique_ptr<Detached>>> Fork();

  // From here on stdout and stderr are `output`, and the process at the terminal ends. Thread-safe
  // with regard to threads that write; call it once.
  void Started(Result<base::UniqueFd> output);

 private:
  explicit Detached(base::UniqueFd starter) : starter_(std::move(starter)) {}

  base::UniqueFd starter_;  // a byte means Started; its end alone, that we have ended
};

}  // namespace autodist::process
