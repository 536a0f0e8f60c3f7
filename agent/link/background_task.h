// Work on a thread of its own, one piece at a time: gRPC's threads must not wait for it.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "autodist/status.h"
#include "base/thread.h"

namespace autodist::agent {

// Destroying it waits for the work. Start is not thread-safe.
class BackgroundTask {
 public:
  bool busy() const { return busy_; }
  // Only while it is not busy. `after` comes when it is not busy any more. Where no thread can be
  // started, neither is called, and the failure is returned.
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
