#include "agent/link/attempt_end.h"

#include <utility>

namespace autodist::agent {

void AttemptEnd::Begin(bool leave) {
  const std::lock_guard lock(mutex_);
  leave_ |= leave;
}

void AttemptEnd::ProcessesGone() {
  output_.Finish();
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }
  OutputChanged();
}

void AttemptEnd::OutputChanged() {
  bool leave = false;
  {
    const std::lock_guard lock(mutex_);
    if (!gone_ || !output_.Drained()) return;
    gone_ = false;
    leave = leave_;
  }
  v1::AgentEvent event;
  event.mutable_ranks_ended();
  events_.Push(std::move(event));
  if (leave) left_();
}

}  // namespace autodist::agent
