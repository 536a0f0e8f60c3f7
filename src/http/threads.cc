#include "http/threads.h"

#include <system_error>
#include <utility>

namespace autodist::http {

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool Threads::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= idle_ && threads_.size() < max_) {
    try {
      threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
      return false;
    }
    ++idle_;
  }
  waiting_.push_back(std::move(task));
  changed_.notify_one();
  return true;
}

void Threads::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto task = std::exchange(waiting_.front(), nullptr);
    waiting_.pop_front();
    --idle_;
    lock.unlock();
    task();
    lock.lock();
    ++idle_;
  }
}

}  // namespace autodist::http
