// When an agent's work is over: everything has ended, or nobody is in charge any more.
#pragma once

#include <chrono>
#include <condition_variable>
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
  // While the node is being prepared the chief has nothing to say, and the lease does not run.
  void Hold(bool held);
  // Likewise while the chief is stopped, until it goes on or its connection breaks.
  void Pause(bool paused);
  // Wait no longer, whatever is still said or done.
  void Expire();
  // Nothing is left on the node.
  void End();

  // True when everything has ended, false when the lease has expired.
  bool WaitForEnd();
  void WaitForEnded();
  base::Deadline expires() const;  // as it is now

 private:
  bool Held() const { return preparing_ || paused_; }

  const std::chrono::milliseconds lease_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  base::Deadline expires_;
  bool claimed_ = false;  // a chief has been heard
  bool preparing_ = false;
  bool paused_ = false;
  std::optional<base::Deadline> expired_at_;  // whatever the lease says
  bool ended_ = false;
};

}  // namespace autodist::agent
