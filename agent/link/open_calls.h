// Counts the open gRPC calls of a service, so that it is destroyed only after they have ended.
#pragma once

#include <condition_variable>
#include <mutex>

namespace autodist::agent {

// The last member of a service whose calls use it. The calls have ended before the server is
// destroyed, but neither the compiler nor ThreadSanitizer sees that order.
class OpenCalls {
 public:
  OpenCalls() = default;
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;
  // Blocks until no call is open.
  ~OpenCalls() {
    std::unique_lock lock(mutex_);
    closed_.wait(lock, [this] { return open_ == 0; });
  }

  // The first member of a call.
  class Entry {
   public:
    explicit Entry(OpenCalls& calls) : calls_(calls) {
      const std::lock_guard lock(calls_.mutex_);
      ++calls_.open_;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      const std::lock_guard lock(calls_.mutex_);
      --calls_.open_;
      calls_.closed_.notify_all();
    }

   private:
    OpenCalls& calls_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable closed_;
  int open_ = 0;  // guarded by mutex_
};

}  // namespace autodist::agent
