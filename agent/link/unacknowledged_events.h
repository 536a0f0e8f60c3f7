// The events that the chief has not acknowledged, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// Numbers events, and keeps each until the chief has acknowledged it, so that a broken session
// loses none. Not thread-safe.
class UnacknowledgedEvents {
 public:
  void Add(v1::AgentEvent event);
  // Returns the next event to write in this session; null: all have been written.
  const v1::AgentEvent* Next();
  // The chief has received all events of this session up to this number.
  void Acknowledge(uint64_t sequence);
  // Begins a session: the chief has the events up to this number; the others are sent again.
  void Resume(uint64_t sequence);

  bool empty() const { return events_.empty(); }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<v1::AgentEvent> events_;
  size_t bytes_ = 0;
  size_t written_ = 0;  // number of events written in this session
  uint64_t last_sequence_ = 0;
};

}  // namespace autodist::agent
