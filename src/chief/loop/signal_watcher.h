// Calls a handler for the signals of this process that a job handles: SIGINT, SIGTERM, SIGQUIT,
// SIGUSR1, SIGUSR2, SIGTSTP and SIGHUP.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "base/fd.h"

namespace autodist::chief {

// Blocks the signals in the calling thread and in every thread that it starts later, so create it
// before other threads. Calls `handler` on its own thread.
class SignalWatcher {
 public:
  explicit SignalWatcher(std::function<void(int signal)> handler);
  // Gives the signals their normal effect again, unless they were blocked before.
  ~SignalWatcher();

  // Blocks only SIGWINCH, in the calling thread, for good: readers of the terminal wait for it.
  static void BlockResize();
  // Blocks all of them and SIGWINCH in the calling thread, for good.
  static void Block();

 private:
  sigset_t before_;  // the mask before
  base::UniqueFd signals_;
  base::UniqueFd stop_;
  std::thread thread_;
};

}  // namespace autodist::chief
