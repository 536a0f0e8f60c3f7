// Whether the ranks of an attempt have given no sign of life for too long. Pure logic.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "chief/loop/loop.h"

namespace autodist::chief {

class HangWatch {
 public:
  using Time = Loop::Time;

  // `limit`: without a sign of life of any rank; 0: none is watched for.
  explicit HangWatch(std::chrono::milliseconds limit) : limit_(limit) {}

  // A rank, or what it may be waiting for, has given a sign of life.
  void Alive(Time now) { last_ = std::max(last_, now); }

  // True once for each hang.
  bool Hangs(Time now) {
    if (limit_.count() == 0) return false;
    if (now < last_ + limit_) {
      told_ = false;
      return false;
    }
    return !std::exchange(told_, true);
  }
  // When to ask again.
  Time next() const { return limit_.count() == 0 || told_ ? Time::max() : last_ + limit_; }
  std::chrono::milliseconds limit() const { return limit_; }

 private:
  const std::chrono::milliseconds limit_;
  Time last_{};
  bool told_ = false;
};

}  // namespace autodist::chief
