// A point in time by which something must have happened.
#pragma once

#include <algorithm>
#include <chrono>

namespace autodist::base {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline After(std::chrono::milliseconds time) { return Deadline(Clock::now() + time); }
  static Deadline At(Clock::time_point when) { return Deadline(when); }
  static Deadline Never() { return Deadline(Clock::time_point::max()); }

  bool Expired() const { return Clock::now() >= when_; }
  Clock::time_point when() const { return when_; }

  // A timeout for poll(2) and epoll_wait(2): milliseconds, rounded up; -1 for no deadline.
  int PollTimeout() const {
    if (when_ == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
  }

  friend bool operator<(Deadline a, Deadline b) { return a.when_ < b.when_; }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

}  // namespace autodist::base
