// Turns the signals to this process that a job heeds into calls: SIGINT, SIGTERM, SIGQUIT, SIGUSR1,
// SIGUSR2, SIGTSTP and SIGHUP.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "base/fd.h"

namespace autodist::chief {

// Blocks the signals in the calling thread and in every thread started by it afterwards, so make
// it before any other thread. `handler` is called on a thread of its own.
class SignalWatcher {
 public:
  explicit SignalWatcher(std::function<void(int signal)> handler);
  // The signals have their normal effect again, unless they were blocked before.
  ~SignalWatcher();

  // SIGWINCH alone, in the calling thread, for good: who reads from the terminal looks for it.
  static void BlockResize();
  // In the calling thread, for good; SIGWINCH, too.
  static void Block();

 private:
  sigset_t before_;  // what was blocked
  base::UniqueFd signals_;
  base::UniqueFd stop_;
  std::thread thread_;
};

}  // namespace autodist::chief
