// When each node has to be looked at next: what is due is found without a look at the others.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "chief/loop/loop.h"

namespace autodist::chief {

// Pure logic; for one thread.
class Deadlines {
 public:
  using Time = Loop::Time;

  explicit Deadlines(size_t nodes) : of_(nodes, Time::max()) {}

  // Time::max(): not at all.
  void Set(uint32_t node, Time time) {
    queue_.erase({of_[node], node});
    of_[node] = time;
    if (time != Time::max()) queue_.emplace(time, node);
  }
  void SetEarlier(uint32_t node, Time time) {
    if (time < of_[node]) Set(node, time);
  }

  // When the first is due; Time::max(): none is.
  Time next() const { return queue_.empty() ? Time::max() : queue_.begin()->first; }
  // One that is due, once.
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
