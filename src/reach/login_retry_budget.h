// How long logins are tried again that a server refuses for now, as it is at its limit of logins in
// progress: one jump host that leads to all nodes lets in one after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>

#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::reach {

// For nodes that are reached at the same time: as long as some of them get in, the others wait for
// their turn. Thread-safe.
class LoginRetryBudget {
 public:
  static constexpr std::chrono::milliseconds kLimit{6'000};  // after the last who got in

  void GotIn() { last_ = Clock::now(); }
  base::Deadline limit() const { return base::Deadline::At(last_.load() + kLimit); }

 private:
  using Clock = base::Deadline::Clock;
  std::atomic<Clock::time_point> last_ = Clock::now();
};

// Calls `login` until it succeeds, or fails with what may not pass, or `limit`, which may move, has
// come. Blocks; a stop ends the waits in between.
Status TryToLogIn(const std::function<Status()>& login, bool (*may_pass)(StatusCode failure),
                  const std::function<base::Deadline()>& limit, const std::stop_token& stop);

// Blocks for the wait; false: cancelled, or the deadline has come.
bool WaitBeforeRetry(std::chrono::milliseconds wait, base::Deadline deadline,
                     const std::stop_token& stop);

// The server refuses it for now.
inline bool IsBusy(StatusCode failure) { return failure == StatusCode::kResourceExhausted; }

}  // namespace autodist::reach
