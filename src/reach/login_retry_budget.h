// Limits the retries of logins that a server refuses temporarily, because of a limit on logins in
// progress. A jump host to all nodes admits one after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>

#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::reach {

// Shared by nodes that are connected to at the same time: while some logins succeed, the others
// continue to retry. Thread-safe.
class LoginRetryBudget {
 public:
  static constexpr std::chrono::milliseconds kLimit{6'000};  // after the last success

  void GotIn() { last_ = Clock::now(); }
  base::Deadline limit() const { return base::Deadline::At(last_.load() + kLimit); }

 private:
  using Clock = base::Deadline::Clock;
  std::atomic<Clock::time_point> last_ = Clock::now();
};

// Calls `login` until it succeeds, fails with a code that `may_pass` rejects, or `limit`, which may
// move, has passed. Blocks; a stop ends the waits in between.
Status TryToLogIn(const std::function<Status()>& login, bool (*may_pass)(StatusCode failure),
                  const std::function<base::Deadline()>& limit, const std::stop_token& stop);

// Blocks for the wait; false: cancelled, or the deadline has passed.
bool WaitBeforeRetry(std::chrono::milliseconds wait, base::Deadline deadline,
                     const std::stop_token& stop);

// Whether the server refuses logins temporarily.
inline bool IsBusy(StatusCode failure) { return failure == StatusCode::kResourceExhausted; }

// Whether a node that was not reached may be booting: it does not answer, or refuses connections.
inline bool MayBeBooting(StatusCode failure) {
  return failure == StatusCode::kUnavailable || failure == StatusCode::kNotFound ||
         failure == StatusCode::kDeadlineExceeded || IsBusy(failure);
}

}  // namespace autodist::reach
