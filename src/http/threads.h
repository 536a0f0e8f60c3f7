// Creates threads on demand up to a limit, and keeps them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace autodist::http {

// Not thread-safe; only the destructor blocks.
class Threads {
 public:
  explicit Threads(size_t max) : max_(max) {}
  // Blocks until all tasks have ended.
  ~Threads();

  // Runs the task, or queues it if all threads are busy. False: no thread could be created.
  bool Post(std::function<void()> task);

 private:
  void Run();

  const size_t max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;  // guarded by mutex_, as are these two
  size_t idle_ = 0;     // threads without a task
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
};

}  // namespace autodist::http
