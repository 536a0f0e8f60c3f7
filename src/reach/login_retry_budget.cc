#include "reach/login_retry_budget.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/backoff.h"

namespace autodist::reach {

using base::Deadline;

bool WaitBeforeRetry(std::chrono::milliseconds wait, Deadline deadline,
                     const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  const Deadline until = std::min(deadline, Deadline::After(wait));
  never.wait_until(lock, stop, until.when(), [] { return false; });
  return !stop.stop_requested() && !deadline.Expired();
}

Status TryToLogIn(const std::function<Status()>& login, bool (*may_pass)(StatusCode failure),
                  const std::function<Deadline()>& limit, const std::stop_token& stop) {
  for (base::Backoff backoff;;) {
    Status status = login();
    if (status.ok() || !may_pass(status.code()) ||
        !WaitBeforeRetry(backoff.Next(), limit(), stop)) {
      return status;
    }
  }
}

}  // namespace autodist::reach
