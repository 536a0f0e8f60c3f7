// Threads whose start may fail: where processes and threads have a limit, that is no reason to end.
#pragma once

#include <signal.h>

#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "autodist/status.h"

namespace autodist::base {

// What std::thread throws where no more threads can be started, as a status: kResourceExhausted.
inline Status NoThread(const std::system_error& error) {
  return WithRemedy(
      Error(StatusCode::kResourceExhausted, "starting a thread: " + error.code().message()),
      "raise the limit of processes and threads (`ulimit -u`, pids.max of the cgroup)");
}

// kResourceExhausted: no more threads can be started.
template <typename Function>
Result<std::jthread> StartThread(Function&& function) {
  try {
    return std::jthread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
}

// The same, of a thread that takes no signals: those of this process are for other threads.
template <typename Function>
Result<std::jthread> StartThreadWithoutSignals(Function&& function) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto thread = StartThread(std::forward<Function>(function));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

// As std::async, on a thread of its own. Where none can be started, get() of the result runs the
// function; without get() it does not run then.
template <typename Function>
auto Async(const Function& function) {
  try {
    return std::async(std::launch::async, function);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, function);
  }
}

}  // namespace autodist::base
