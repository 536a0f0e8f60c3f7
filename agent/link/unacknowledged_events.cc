#include "agent/link/unacknowledged_events.h"

#include <utility>

namespace autodist::agent {

void UnacknowledgedEvents::Add(v1::AgentEvent event) {
  event.set_sequence(++last_sequence_);
  bytes_ += event.ByteSizeLong();
  events_.push_back(std::move(event));
}

const v1::AgentEvent* UnacknowledgedEvents::Next() {
  return written_ < events_.size() ? &events_[written_++] : nullptr;
}

void UnacknowledgedEvents::Acknowledge(uint64_t sequence) {
  for (; written_ > 0 && events_.front().sequence() <= sequence; --written_) {
    bytes_ -= events_.front().ByteSizeLong();
    events_.pop_front();
  }
}

void UnacknowledgedEvents::Resume(uint64_t sequence) {
  written_ = events_.size();  // so that any can be acknowledged
  Acknowledge(sequence);
  written_ = 0;
}

}  // namespace autodist::agent
