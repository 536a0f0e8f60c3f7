// The events that the chief has not acknowledged, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// Numbers events, and keeps each until the chief has acknowledged it: a session that breaks off
// loses none. Not thread-safe.
class UnacknowledgedEvents {
 public:
  void Add(v1::AgentEvent event);
  // The next one to write in this session; null: all have been.
  const v1::AgentEvent* Next();
  // What was written in this session, to this number, has come.
  void Acknowledge(uint64_t sequence);
  // A session begins; the chief has those to this number, and is sent the others again.
  void Resume(uint64_t sequence);

  bool empty() const { return events_.empty(); }
  size_t bytes() const { return bytes_; }

 private:
  std::deque<v1::AgentEvent> events_;
  size_t bytes_ = 0;
  size_t written_ = 0;  // how many of them have been, in this session
  uint64_t last_sequence_ = 0;
};

}  // namespace autodist::agent
