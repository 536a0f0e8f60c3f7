#include "agent/link/attempt_end.h"

#include <utility>

namespace autodist::agent {

void AttemptEnd::Begin(bool last) {
  const std::lock_guard lock(mutex_);
  last_ |= last;
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
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    if (!gone_ || !output_.Drained()) return;
    gone_ = false;
    last = last_;
  }
  std::optional<uint64_t> generation;
  {
    const std::lock_guard lock(ended_mutex_);
    generation = ended_();
  }
  if (!last && !generation) return;
  v1::AgentEvent event;
  event.mutable_ranks_ended()->set_generation(generation.value_or(UINT64_MAX));
  if (!last) return events_.SendReliably(std::move(event));
  events_.Close(std::move(event));
  last_ended_();
}

}  // namespace autodist::agent
