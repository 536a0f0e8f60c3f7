// What the job's thread waits for: tasks that other threads post, and the time.
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

// The clock of everything in the chief: a test's loop has a clock that the test turns.
class Loop {
 public:
  using Time = base::Deadline::Clock::time_point;
  using Task = std::function<void()>;

  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  // Thread-safe, as the four below; none blocks.
  virtual Time Now() const { return base::Deadline::Clock::now(); }
  // Runs the task on the loop's thread.
  void Post(Task task);
  // The same, before all that was posted otherwise: what a person says waits for no node's words.
  void PostUrgent(Task task);
  // Runs the task on a thread that may wait for a disk, after those that were given to it before.
  virtual void InBackground(Task task) { background_.Post(std::move(task)); }
  // Runs the task on a thread of its own, for which nobody waits: it may hang, and outlive us.
  // Fails where no thread can be started.
  virtual Status RunDetached(Task task);
  // Blocks until the background tasks that have been given are done.
  void DrainBackground() { background_.Drain(); }

  // `due` is called before each wait, and between tasks every kMaxDelay: it does what is due, and
  // returns when to be called again at the latest.
  void AddTimer(std::function<Time()> due) { due_.push_back(std::move(due)); }

  // What is due may come late by so much where there is no end of tasks: to look what is due takes
  // as long as many of them, where there are many nodes.
  static constexpr std::chrono::milliseconds kMaxDelay{10};

  // Runs tasks until `done`, or until the limit. Returns whether it is done.
  bool RunUntil(const std::function<bool()>& done, Time limit = Time::max());

 protected:
  // Blocks until there is a task; nullopt if the limit comes first.
  virtual std::optional<Task> Take(Time limit);
  bool Empty() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Task> first_;  // guarded by mutex_
  std::deque<Task> tasks_;  // guarded by mutex_
  std::vector<std::function<Time()>> due_;
  base::Worker background_;
};

}  // namespace autodist::chief
