// When an agent's work is over: everything has ended, or its lease has run out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "base/deadline.h"

namespace autodist::agent {

// Counts the lease by this machine's monotonic clock. Thread-safe.
class Lifetime {
 public:
  explicit Lifetime(std::chrono::milliseconds lease)
      : lease_(lease), expires_(base::Deadline::After(lease)) {}

  // The chief has been heard.
  void Renew();
  // Nobody will come if nobody has.
  void StarterGone();
  // While we work for the chief, which then has nothing to say, the lease does not run.
  void ExpectSilence(bool expected);
  // Likewise while the chief is stopped, until it goes on or its connection breaks.
  void Suspend(bool suspended);
  // From here on the lease is no longer than that.
  void Shorten(std::chrono::milliseconds lease);
  // Wait no longer, whatever is still said or done.
  void Expire();
  // Nothing is left on the node.
  void End();

  // True when everything has ended, false when the lease has expired. `waiting` is called again and
  // again, once an interval.
  bool WaitForEnd(std::chrono::milliseconds interval, const std::function<void()>& waiting);
  base::Deadline expires() const;  // as it is now

 private:
  bool Held() const { return silence_expected_ || suspended_; }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::chrono::milliseconds lease_;
  base::Deadline expires_;
  bool claimed_ = false;  // a chief has been heard
  bool silence_expected_ = false;
  bool suspended_ = false;
  std::optional<base::Deadline> expired_at_;  // whatever the lease says
  bool ended_ = false;
};

}  // namespace autodist::agent
