// The rate of a growing counter. Pure logic.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace autodist::agent {

using SampleTime = std::chrono::steady_clock::time_point;

class Rate {
 public:
  // Returns the rate per second since the previous count. nullopt: it is the first count, or
  // smaller than the previous one, as after a reset.
  std::optional<double> Next(uint64_t count, SampleTime now) {
    const uint64_t count_before = std::exchange(count_, count);
    const std::optional<SampleTime> before = std::exchange(time_, now);
    if (!before || *before >= now || count < count_before) return std::nullopt;
    return static_cast<double>(count - count_before) /
           std::chrono::duration<double>(now - *before).count();
  }

 private:
  uint64_t count_ = 0;
  std::optional<SampleTime> time_;
};

}  // namespace autodist::agent
