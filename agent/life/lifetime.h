// Decides when an agent's work is over: everything has ended, or its lease has expired.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/deadline.h"

namespace autodist::agent {

// Uses this machine's monotonic clock for the lease. Thread-safe.
class Lifetime {
 public:
  // `on_lease` gets each new end of the lease until WaitForEnd returns, and then Never. It must not
  // call this object.
  explicit Lifetime(
      std::chrono::milliseconds lease,
      std::function<void(base::Deadline expires)> on_lease = [](base::Deadline) {})
      : lease_(lease), on_lease_(std::move(on_lease)), expires_(base::Deadline::After(lease)) {}

  // The chief has sent a message. Renews the lease before the first call of Received.
  void Renew();
  // The chief has received what was sent at this time. From now on, only that renews the lease: it
  // ends no later than the chief expects. Preparations no longer suspend it.
  void Received(base::Deadline::Clock::time_point sent);
  // The starting process has ended: no chief will connect if none has so far.
  void StarterGone();
  // Suspends the lease while the agent works for the chief, which then sends nothing.
  void ExpectSilence(bool expected);
  // Suspends the lease while the chief is stopped, for at most this time; 0: it has continued, or
  // its connection broke.
  void Suspend(std::chrono::milliseconds hold);
  // Limits the lease to this time.
  void Shorten(std::chrono::milliseconds lease);
  // Ends the lease now, independently of later messages.
  void Expire();
  // Everything has ended on the node.
  void End();

  // Returns true when everything has ended, false when the lease has expired. Calls `waiting` once
  // per interval; it must not call this object.
  bool WaitForEnd(std::chrono::milliseconds interval, const std::function<void()>& waiting);
  base::Deadline expires() const;  // the current value

 private:
  void SetExpires(base::Deadline expires);  // not earlier while the chief is stopped
  void MoveExpires(base::Deadline expires);
  // The current value, unless Expire has been called.
  base::Deadline LeaseEnd() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::chrono::milliseconds lease_;
  std::function<void(base::Deadline expires)> on_lease_;
  base::Deadline expires_;
  bool claimed_ = false;      // whether a chief has sent a message
  bool by_receipts_ = false;  // whether only Received renews the lease
  bool silence_expected_ = false;
  bool suspended_ = false;
  std::optional<base::Deadline> expired_at_;  // overrides the lease
  bool ended_ = false;
};

}  // namespace autodist::agent
