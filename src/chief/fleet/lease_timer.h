// The lease of one node, and for how long its agent has been silent. Pure logic; for one thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/deadline.h"

namespace autodist::chief {

class LeaseTimer {
 public:
  using Time = base::Deadline::Clock::time_point;

  // An agent that does not answer for this long is taken for cut off, unless the job has so many
  // nodes that each is asked less often.
  static constexpr std::chrono::milliseconds kSilenceLimit{10'000};

  explicit LeaseTimer(std::chrono::milliseconds lease,
                      std::chrono::milliseconds silence_limit = kSilenceLimit)
      : lease_(lease), silence_limit_(std::min(silence_limit, lease / 2)) {}

  // The connection broke at `now`; the lease has been running since the last contact.
  void Broken(Time last_contact, Time now) {
    last_contact_ = last_contact;
    broken_ = now;
  }
  // There is another connection, by which the agent has been asked and has yet to answer.
  void Linked(Time now) { linked_ = asked_ = now; }
  Time linked() const { return linked_; }
  Time broken() const { return broken_; }
  // When a node that is disconnected is lost.
  Time lost_at() const { return std::max(last_contact_, reset_at_) + lease_; }

  // A renewal has been sent at `now`.
  void Asked(Time now, Time last_contact) {
    if (last_contact >= asked_) asked_ = now;
  }
  // When it will not have answered for too long.
  Time SilentAt(Time last_contact) const {
    if (last_contact >= asked_) return Time::max();
    return std::max({last_contact, linked_, reset_at_}) + silence_limit_;
  }
  // The time until `now` does not count: it is we who were stopped.
  void ResetSilence(Time now) { reset_at_ = now; }

 private:
  const std::chrono::milliseconds lease_;
  const std::chrono::milliseconds silence_limit_;
  Time last_contact_{};  // before the connection broke
  Time broken_{};
  Time linked_{};
  Time asked_{};  // the oldest renewal that has not been answered
  Time reset_at_{};
};

}  // namespace autodist::chief
