// Knows when each node has to be checked next, and finds due nodes without visiting the others.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "chief/loop/loop.h"

namespace autodist::chief {

// Pure logic; not thread-safe.
class Deadlines {
 public:
  using Time = Loop::Time;

  explicit Deadlines(size_t nodes) : of_(nodes, Time::max()) {}

  // Time::max(): never.
  void Set(uint32_t node, Time time) {
    queue_.erase({of_[node], node});
    of_[node] = time;
    if (time != Time::max()) queue_.emplace(time, node);
  }
  void SetEarlier(uint32_t node, Time time) {
    if (time < of_[node]) Set(node, time);
  }

  // Returns when the first node is due; Time::max(): never.
  Time next() const { return queue_.empty() ? Time::max() : queue_.begin()->first; }
  // Takes one node that is due.
  std::optional<uint32_t> TakeDue(Time now) {
    if (next() > now) return std::nullopt;
    const uint32_t node = queue_.begin()->second;
    Set(node, Time::max());
    return node;
  }

 private:
  std::vector<Time> of_;
  std::set<std::pair<Time, uint32_t>> queue_;
};

}  // namespace autodist::chief
