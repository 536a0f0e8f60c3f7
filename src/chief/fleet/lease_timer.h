// The lease of one node, and how long its agent has been silent. Pure logic; not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/deadline.h"

namespace autodist::chief {

class LeaseTimer {
 public:
  using Time = base::Deadline::Clock::time_point;

  // An agent that does not answer for this long counts as disconnected. In large jobs the limit is
  // higher, because renewals are less frequent.
  static constexpr std::chrono::milliseconds kSilenceLimit{10'000};

  // The time in which SIGKILL ends ranks.
  static constexpr std::chrono::milliseconds kKillLimit{100};

  // `end_time`: what an agent gives its ranks after the lease, before SIGKILL.
  explicit LeaseTimer(std::chrono::milliseconds lease,
                      std::chrono::milliseconds silence_limit = kSilenceLimit,
                      std::chrono::milliseconds end_time = {})
      : lease_(lease), end_time_(end_time), silence_limit_(std::min(silence_limit, lease / 2)) {}

  // The connection broke; the lease runs since the last contact.
  void Broken(Time last_contact) { last_contact_ = last_contact; }
  // Before the connection broke.
  Time last_contact() const { return last_contact_; }
  // A new connection exists; the agent has been asked and has yet to answer.
  void Linked(Time now) { linked_ = asked_ = now; }
  Time linked() const { return linked_; }
  // When a disconnected node is lost. `resumed`, also below: the chief was stopped until then.
  Time LostAt(Time resumed) const { return std::max(last_contact_, resumed) + lease_; }

  // The agent was ordered at `now` to hold its lease for at most this time, while the chief is
  // stopped. It gets that order within its lease, or never.
  void Hold(Time now, std::chrono::milliseconds time) { held_until_ = now + lease_ + time; }
  // The agent has received that the chief continues.
  void Release() { held_until_ = {}; }
  bool held(Time now) const { return now < held_until_; }
  // When an agent has ended its ranks from which the last message arrived at `last_contact`: the
  // lease began before that.
  Time RanksGoneAt(Time last_contact) const {
    return std::max(last_contact, held_until_) + lease_ + end_time_ + kKillLimit;
  }

  // A renewal was sent at `now`.
  void Asked(Time now, Time last_contact) {
    if (last_contact >= asked_) asked_ = now;
  }
  // When the agent's silence exceeds the limit.
  Time SilentAt(Time last_contact, Time resumed) const {
    if (last_contact >= asked_) return Time::max();
    return std::max({last_contact, linked_, resumed}) + silence_limit_;
  }

 private:
  const std::chrono::milliseconds lease_;
  const std::chrono::milliseconds end_time_;
  const std::chrono::milliseconds silence_limit_;
  Time last_contact_{};  // before the connection broke
  Time linked_{};
  Time asked_{};  // the oldest unanswered renewal
  Time held_until_{};
};

}  // namespace autodist::chief
