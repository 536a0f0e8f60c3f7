// A loop with simulated time, which jumps to the next scheduled task when there is no other work:
// hours of a job's life run instantly and deterministically.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "chief/loop/loop.h"

namespace autodist::test {

// Other threads may Post, but the loop does not wait for them: their tasks must be posted already.
class TurnedLoop : public chief::Loop {
 public:
  Time Now() const override { return now_; }
  void InBackground(Task task) override {
    if (background_takes_ == background_takes_.zero()) return task();
    After(background_takes_, std::move(task));
  }
  Status RunDetached(Task task) override {
    task();
    return OkStatus();
  }
  // Simulates a slow disk; suitable for few tasks at a time.
  void TakesTimeInBackground(std::chrono::milliseconds time) { background_takes_ = time; }

  // Runs the task after this time; for the loop's thread.
  void After(std::chrono::milliseconds time, Task task) { Schedule(now_ + time, std::move(task)); }
  void Schedule(Time time, Task task) { scheduled_.emplace(time, std::move(task)); }

  // Simulates that this thread was not scheduled for a while.
  void Sleep(std::chrono::milliseconds time) { now_ += time; }
  // Simulates that this process is stopped, while what is scheduled of others goes on.
  void Stand(std::chrono::milliseconds time) {
    const Time end = now_ + time;
    while (!scheduled_.empty() && scheduled_.begin()->first <= end) {
      now_ = std::max(now_, scheduled_.begin()->first);
      TakeScheduled()();
    }
    now_ = end;
  }

 protected:
  std::optional<Task> Take(Time limit) override {
    // Runs tasks that became due while this thread was not scheduled.
    if (!scheduled_.empty() && scheduled_.begin()->first < now_) return TakeScheduled();
    if (!Empty()) return Loop::Take(now_);
    const Time next = scheduled_.empty() ? limit : std::min(limit, scheduled_.begin()->first);
    if (next == Time::max()) {
      ADD_FAILURE() << "nothing will ever happen";
      abort();
    }
    now_ = std::max(now_, next);
    if (scheduled_.empty() || scheduled_.begin()->first > now_) return std::nullopt;
    return TakeScheduled();
  }

 private:
  Task TakeScheduled() { return std::move(scheduled_.extract(scheduled_.begin()).mapped()); }

  Time now_{std::chrono::hours(1)};
  std::chrono::milliseconds background_takes_{0};
  std::multimap<Time, Task> scheduled_;
};

}  // namespace autodist::test
