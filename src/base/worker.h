// A background thread that runs tasks one after another. It survives their exceptions
// (base/exceptions.h).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/exceptions.h"

namespace autodist::base {

class Worker {
 public:
  ~Worker() {
    Post(nullptr);
    thread_.join();
  }

  // Thread-safe; does not block.
  void Post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

  // Blocks until all tasks posted so far have run.
  void Drain() {
    std::promise<void> done;
    Post([&done] { done.set_value(); });
    done.get_future().wait();
  }

 private:
  void Run() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      if (!task) return;
      HandlingExceptions(task);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_; null: stop
  std::thread thread_{&Worker::Run, this};   // last: uses the members above
};

}  // namespace autodist::base
