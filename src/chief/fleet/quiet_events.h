// Collects frequent events that are not urgent, so that the loop is not woken for each.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread, except for Put, which is thread-safe. No call blocks.
class QuietEvents {
 public:
  // The maximum delay of an event.
  static constexpr std::chrono::milliseconds kWait{100};

  struct Event {
    uint32_t node;
    size_t cost;
    int64_t arrived_ns;  // since 1970
    v1::AgentEvent event;
  };

  // The loop must outlive this object, and not run this object's tasks after it is destroyed.
  explicit QuietEvents(Loop& loop) : loop_(loop) {}

  void Put(Event event) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) loop_.Post([this] { due_ = loop_.Now() + kWait; });
    waiting_.push_back(std::move(event));
  }

  std::vector<Event> Take() {
    due_ = Loop::Time::max();
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

  // When to call Take at the latest.
  Loop::Time due() const { return due_; }

 private:
  Loop& loop_;
  Loop::Time due_ = Loop::Time::max();
  std::mutex mutex_;
  std::vector<Event> waiting_;  // guarded by mutex_
};

}  // namespace autodist::chief
