// The event loop of the job's thread: tasks that other threads post, and timers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/worker.h"

namespace autodist::chief {

// The clock of everything in the chief; tests use a loop with a clock of their own.
class Loop {
 public:
  using Time = base::Deadline::Clock::time_point;
  using Task = std::function<void()>;

  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  // Thread-safe, as are the four methods below; none blocks.
  virtual Time Now() const { return base::Deadline::Clock::now(); }
  // Runs the task on the loop's thread.
  void Post(Task task);
  // Runs the task before all other posted tasks: a user's action does not wait for events of nodes.
  void PostUrgent(Task task);
  // Runs the task on a background thread that may wait for a disk, in order of the calls.
  virtual void InBackground(Task task) { background_.Post(std::move(task)); }
  // Runs the task on a detached thread: it may hang, and outlive this object. Fails if no thread
  // can be started.
  virtual Status RunDetached(Task task);
  // Blocks until all background tasks given so far are done.
  void DrainBackground() { background_.Drain(); }

  // Adds a timer. `due` is called before each wait, and at least every kMaxDelay between tasks: it
  // does the work that is due, and returns when to call it again at the latest. One that throws is
  // not called again.
  void AddTimer(std::function<Time()> due) { due_.push_back(std::move(due)); }

  // The maximum delay of timers while there are always tasks: with many nodes, one check of the
  // timers costs as much as many tasks.
  static constexpr std::chrono::milliseconds kMaxDelay{10};

  // Since when this thread has run without a long pause, in which it noticed nothing: limits for
  // what others do count from then. Zero: always. On the loop's thread, as Resumed.
  Time resumed() const { return resumed_; }
  // This process was stopped until now. The loop notices longer pauses by itself.
  void Resumed() { resumed_ = Now(); }

  // Runs tasks until `done`, or until the limit. Returns whether it is done. Throws what a task, a
  // timer or `done` throws; call it again to continue.
  bool RunUntil(const std::function<bool()>& done, Time limit = Time::max());

 protected:
  // Blocks until there is a task; nullopt if the limit comes first.
  virtual std::optional<Task> Take(Time limit);
  bool Empty() const;

 private:
  Time NoticePause();  // returns the time

  Time awake_by_ = Time::max();  // when the thread was to run at the latest
  Time resumed_{};
  mutable std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Task> first_;  // guarded by mutex_
  std::deque<Task> tasks_;  // guarded by mutex_
  std::vector<std::function<Time()>> due_;
  base::Worker background_;
};

}  // namespace autodist::chief
