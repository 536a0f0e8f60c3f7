// What is told again and again, for any number who take it as fast as they can: one who is slow
// gets the newest when it is ready for it, and is never waited for.
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
  struct News {
    uint64_t number = 0;  // another one for each text; 0: there is none yet
    std::shared_ptr<const std::string> text;
    bool ended = false;  // it is the last
  };

  // In place of the text before. Does not block.
  void Publish(std::string text) {
    auto made = std::make_shared<const std::string>(std::move(text));
    const std::lock_guard lock(mutex_);
    ++news_.number;
    news_.text.swap(made);
    changed_.notify_all();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    news_.ended = true;
    changed_.notify_all();
  }

  // Blocks until there is another text than the one with this number, the end, or the deadline.
  News Await(uint64_t seen, base::Deadline deadline) const {
    std::unique_lock lock(mutex_);
    const auto other = [&] { return news_.ended || news_.number != seen; };
    changed_.wait_until(lock, deadline.when(), other);
    return news_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  News news_;  // guarded by mutex_
};

}  // namespace autodist::web
