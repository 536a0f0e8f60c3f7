#include "base/task_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace autodist::base {

Status TaskQueue::Open() {
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return wake_.valid() ? OkStatus() : ErrnoError(errno, "eventfd");
}

void TaskQueue::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void TaskQueue::RunAll() {
  uint64_t count = 0;
  (void)!read(wake_.get(), &count, sizeof count);
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

}  // namespace autodist::base
