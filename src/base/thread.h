// Threads whose start may fail without ending the process, for systems with a limit on threads.
#pragma once

#include <signal.h>

#include <future>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "autodist/status.h"
#include "base/exceptions.h"

namespace autodist::base {

// Converts the exception of std::thread when no thread can be started: kResourceExhausted.
inline Status NoThread(const std::system_error& error) {
  return WithRemedy(
      Error(StatusCode::kResourceExhausted, "starting a thread: " + error.code().message()),
      "raise the limit of processes and threads (`ulimit -u`, pids.max of the cgroup)");
}

// kResourceExhausted: no more threads can be started. Exceptions: see base/exceptions.h.
template <typename Function>
Result<std::jthread> StartThread(Function&& function) {
  try {
    return std::jthread([own = std::forward<Function>(function)](std::stop_token stop) mutable {
      HandlingExceptions([&] {
        if constexpr (std::is_invocable_v<decltype(own)&, std::stop_token>) {
          own(std::move(stop));
        } else {
          own();
        }
      });
    });
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
}

// Starts a thread that blocks all signals; other threads handle the signals of this process.
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

// Like std::async with a thread for each call. If no thread can be started, get() of the result
// runs the function; without get() it does not run.
template <typename Function>
auto Async(const Function& function) {
  try {
    return std::async(std::launch::async, function);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, function);
  }
}

}  // namespace autodist::base
