// A value that is published repeatedly to any number of readers. A slow reader skips intermediate
// values and never delays the publisher.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/deadline.h"

namespace autodist::web {

// Thread-safe.
class LatestValue {
 public:
  struct Update {
    uint64_t number = 0;  // differs for each text; 0: no text yet
    std::shared_ptr<const std::string> text;
    bool ended = false;  // no other text will follow
  };

  // Replaces the previous text. Does not block.
  void Publish(std::string text) {
    auto made = std::make_shared<const std::string>(std::move(text));
    const std::lock_guard lock(mutex_);
    ++update_.number;
    update_.text.swap(made);
    changed_.notify_all();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    update_.ended = true;
    changed_.notify_all();
  }

  // Blocks until a text with another number is published, the end, or the deadline.
  Update Await(uint64_t seen, base::Deadline deadline) const {
    std::unique_lock lock(mutex_);
    const auto other = [&] { return update_.ended || update_.number != seen; };
    changed_.wait_until(lock, deadline.when(), other);
    return update_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Update update_;  // guarded by mutex_
};

}  // namespace autodist::web
