// How far one node of a job is. Pure logic: told of every event and of the time, it never waits and
// never talks to anyone.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "autodist/v1/job.pb.h"
#include "base/deadline.h"

namespace autodist::chief {

// launching → ready → running → stopping → ended, with reconnecting in between as long as the
// connection is broken; lost from anywhere but the end. A lost or ended node can become ready again
// for a restart.
class NodeState {
 public:
  using Time = base::Deadline::Clock::time_point;
  // Called at each change of phase.
  using Changed = std::function<void(v1::NodePhase phase, const std::string& why)>;

  // An agent that does not answer for this long is taken for cut off, unless the job has so many
  // nodes that each is asked less often.
  static constexpr std::chrono::milliseconds kSilenceLimit{10'000};

  NodeState(std::chrono::milliseconds lease, Changed changed,
            std::chrono::milliseconds silence_limit = kSilenceLimit);

  v1::NodePhase phase() const { return phase_; }
  // Whether the agent there is, or may soon be, at work for the job.
  bool alive() const {
    return phase_ != v1::NODE_PHASE_LAUNCHING && phase_ != v1::NODE_PHASE_LOST &&
           phase_ != v1::NODE_PHASE_ENDED;
  }
  bool reconnecting() const { return phase_ == v1::NODE_PHASE_RECONNECTING; }
  const std::string& detail() const { return detail_; }

  void Ready();
  void Running();
  void Stopping();
  void Ended();
  void Lost(const std::string& why);
  // The connection broke at `now`; the lease has been running since `heard`.
  void Broken(const std::string& why, Time heard, Time now);
  // There is another one, by which the agent has been asked and has yet to answer.
  void Linked(Time now) { linked_ = asked_ = now; }
  Time linked() const { return linked_; }
  // The agent has answered by it, and what was before goes on.
  void Back(Time now);

  // When a node that is reconnecting is lost.
  Time lost_at() const { return std::max(heard_, forgiven_) + lease_; }

  // A renewal has been sent at `now`; the agent was last heard at `heard`.
  void Asked(Time now, Time heard);
  // When it will not have answered for too long.
  Time SilentAt(Time heard) const;
  // The time until `now` does not count: it is we who were stopped.
  void Forgive(Time now) { forgiven_ = now; }

 private:
  void Enter(v1::NodePhase phase, const std::string& why);

  const std::chrono::milliseconds lease_;
  const std::chrono::milliseconds silence_limit_;
  const Changed changed_;
  v1::NodePhase phase_ = v1::NODE_PHASE_LAUNCHING;
  v1::NodePhase before_ = v1::NODE_PHASE_LAUNCHING;  // the connection broke
  std::string detail_;
  Time heard_{};  // before the connection broke
  Time broken_{};
  Time linked_{};
  Time asked_{};  // the oldest renewal that has not been answered
  Time forgiven_{};
};

}  // namespace autodist::chief
