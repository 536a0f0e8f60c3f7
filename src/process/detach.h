// Running in the background: forks a process without a terminal.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::process {

// The outcome of the detached process, for the process at the terminal.
struct DetachOutcome {
  bool running = false;  // it has called Started, and continues
  int exit_code = 0;     // to exit with: 0, or the child's exit code; 128 + n after signal n
};

// The detached process. It belongs to no terminal: Ctrl-C and the end of the session do not reach
// it. Until Started it writes to the same stdout and stderr.
class Detached {
 public:
  // Forks, so call it before any other thread is started. Returns in the new process at once, with
  // Detached, and in the old process when the new one has called Started or has ended. Until then
  // the old process forwards SIGINT, SIGTERM and SIGQUIT; a hang-up of the terminal ends only the
  // old process.
  static Result<std::variant<DetachOutcome, std::unique_ptr<Detached>>> Fork();

  // Redirects stdout and stderr to `output`, and ends the process at the terminal. Other threads
  // may write meanwhile; call it once.
  void Started(Result<base::UniqueFd> output);

 private:
  explicit Detached(base::UniqueFd starter) : starter_(std::move(starter)) {}

  // A byte means Started; end of file without it, that this process has ended.
  base::UniqueFd starter_;
};

}  // namespace autodist::process
