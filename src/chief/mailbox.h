// Events from many threads to the one that decides.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/deadline.h"

namespace autodist::chief {

template <typename Event>
class Mailbox {
 public:
  // Thread-safe; does not block.
  void Put(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_one();
  }

  // Blocks until there is an event; nullopt if the deadline comes first.
  std::optional<Event> Take(base::Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline.when(), [this] { return !events_.empty(); })) {
      return std::nullopt;
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  // Thread-safe.
  bool Empty() const {
    const std::lock_guard lock(mutex_);
    return events_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Event> events_;
};

}  // namespace autodist::chief
