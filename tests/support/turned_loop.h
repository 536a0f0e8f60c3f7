// A loop whose clock stands still until there is nothing to do, and then goes to the next moment at
// which there is: hours of a job's life in no time, and always the same.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

#include "chief/loop/loop.h"

namespace autodist::test {

// The threads of others may Post, but nothing waits for them: what they do has to be done already.
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
  // As a slow disk does; not of many tasks at a time.
  void TakesTimeInBackground(std::chrono::milliseconds time) { background_takes_ = time; }

  // Runs the task when it is time; for the loop's thread.
  void After(std::chrono::milliseconds time, Task task) { Schedule(now_ + time, std::move(task)); }
  void Schedule(Time time, Task task) { scheduled_.emplace(time, std::move(task)); }

  // As if this thread had been kept from running.
  void Sleep(std::chrono::milliseconds time) { now_ += time; }

 protected:
  std::optional<Task> Take(Time limit) override {
    // What has happened while this thread was kept from running.
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
