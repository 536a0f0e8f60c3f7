#include "chief/nodes/node_state.h"

#include <algorithm>

#include "base/quantity.h"

namespace autodist::chief {

NodeState::NodeState(std::chrono::milliseconds lease, Changed changed,
                     std::chrono::milliseconds silence_limit)
    : lease_(lease),
      silence_limit_(std::min(silence_limit, lease / 2)),
      changed_(std::move(changed)) {}

void NodeState::Enter(v1::NodePhase phase, const std::string& why) {
  if (phase == phase_) return;
  phase_ = phase;
  detail_ = why;
  changed_(phase, why);
}

void NodeState::Ready() { Enter(v1::NODE_PHASE_READY, ""); }

void NodeState::Running() {
  if (phase_ == v1::NODE_PHASE_READY) Enter(v1::NODE_PHASE_RUNNING, "");
  if (reconnecting() && before_ == v1::NODE_PHASE_READY) before_ = v1::NODE_PHASE_RUNNING;
}

void NodeState::Stopping() {
  if (reconnecting()) {
    before_ = v1::NODE_PHASE_STOPPING;
  } else if (alive()) {
    Enter(v1::NODE_PHASE_STOPPING, "");
  }
}

void NodeState::Ended() {
  if (phase_ != v1::NODE_PHASE_LOST) Enter(v1::NODE_PHASE_ENDED, "");
}

void NodeState::Lost(const std::string& why) {
  if (phase_ != v1::NODE_PHASE_ENDED) Enter(v1::NODE_PHASE_LOST, why);
}

void NodeState::Broken(const std::string& why, Time heard, Time now) {
  if (!alive() || reconnecting()) return;
  before_ = phase_;
  heard_ = heard;
  broken_ = now;
  Enter(v1::NODE_PHASE_RECONNECTING, why);
}

void NodeState::Back(Time now) {
  const auto after = std::chrono::duration_cast<std::chrono::milliseconds>(now - broken_);
  if (reconnecting()) Enter(before_, "connected again after " + base::Seconds(after));
}

void NodeState::Asked(Time now, Time heard) {
  if (heard >= asked_) asked_ = now;
}

NodeState::Time NodeState::SilentAt(Time heard) const {
  if (heard >= asked_) return Time::max();
  return std::max({heard, linked_, forgiven_}) + silence_limit_;
}

}  // namespace autodist::chief
