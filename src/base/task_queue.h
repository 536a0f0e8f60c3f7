// Hands tasks to a thread that waits in poll(2) or epoll_wait(2).
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::base {

class TaskQueue {
 public:
  Status Open();

  // Readable while there are tasks.
  int fd() const { return wake_.get(); }

  // Thread-safe; does not block.
  void Post(std::function<void()> task);

  // Runs the queued tasks in order; called by the waiting thread.
  void RunAll();

 private:
  UniqueFd wake_;  // eventfd
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // guarded by mutex_
};

}  // namespace autodist::base
