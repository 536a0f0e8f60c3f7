// Streams of server-sent events, which continue until the reader disconnects.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "http/message.h"
#include "web/job_subscription.h"
#include "web/log_file.h"

namespace autodist::web {

// Limits the number of concurrent holders. Thread-safe. The seats may outlive it.
class ConnectionLimit {
 public:
  explicit ConnectionLimit(size_t most) : taken_(std::make_shared<Taken>()), most_(most) {}

  // The slot is taken until the last copy is destroyed. Null: none is free.
  std::shared_ptr<const void> Take() {
    const std::lock_guard lock(taken_->mutex);
    if (taken_->number >= most_) return nullptr;
    ++taken_->number;
    return {static_cast<const void*>(this), [taken = taken_](const void*) {
              const std::lock_guard giving(taken->mutex);
              --taken->number;
            }};
  }
  size_t taken() const {
    const std::lock_guard lock(taken_->mutex);
    return taken_->number;
  }

 private:
  struct Taken {
    std::mutex mutex;
    size_t number = 0;  // guarded by mutex
  };
  const std::shared_ptr<Taken> taken_;
  const size_t most_;
};

// The reader of a stream.
struct Viewer {
  std::stop_token stop;
  std::function<bool()> gone;
  std::shared_ptr<const void> slot;  // released when the stream ends
};

// Sends the job's snapshots, and an event "end" when the job has ended.
http::Answer SnapshotStream(std::shared_ptr<JobSubscription> watch, Viewer viewer);

// Sends text that is added to a log file from this byte on; of a flood only the last part.
http::Answer TailStream(std::shared_ptr<const LogFile> file, uint64_t from, Viewer viewer);

}  // namespace autodist::web
