// Threads that are made as they are needed, up to a number, and kept.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace autodist::http {

// For one thread, which only the destructor blocks.
class Threads {
 public:
  explicit Threads(size_t max) : max_(max) {}
  // Waits for all tasks.
  ~Threads();

  // Runs the task, later where all threads are at work. False: the machine has no thread for it.
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
