// Runs work on a separate thread, one piece at a time, because gRPC's threads must not block.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "autodist/status.h"
#include "base/thread.h"

namespace autodist::agent {

// The destructor waits for the work. Start is not thread-safe.
class BackgroundTask {
 public:
  bool busy() const { return busy_; }
  // Call only while it is not busy. `after` is called when it is no longer busy. If no thread can
  // be started, returns the failure and calls neither.
  Status Start(
      std::function<void()> work, std::function<void()> after = [] {}) {
    busy_ = true;
    auto thread = base::StartThread([this, work = std::move(work), after = std::move(after)] {
      work();
      busy_ = false;
      after();
    });
    Status status = thread.status();
    if (status.ok()) {
      thread_ = *std::move(thread);
    } else {
      busy_ = false;
    }
    return status;
  }

 private:
  std::atomic<bool> busy_ = false;
  std::jthread thread_;
};

}  // namespace autodist::agent
