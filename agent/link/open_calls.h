// Counts the open gRPC calls of a service, so that it is destroyed only when they are over.
#pragma once

#include <condition_variable>
#include <mutex>

namespace autodist::agent {

// The last member of a service whose calls use it: by the end of a server they are over, but
// nothing that the compiler sees, or ThreadSanitizer, says that what they did came before.
class OpenCalls {
 public:
  OpenCalls() = default;
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;
  // Blocks until none is open.
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
