// Measures the rate of steps by the local clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace autodist::progress {

using Time = std::chrono::steady_clock::time_point;

// Bounded size. Not thread-safe.
class StepRate {
 public:
  // The window of the current rate: the longer of the two.
  static constexpr std::chrono::seconds kWindow{5};
  static constexpr uint64_t kWindowSteps = 20;

  // Restarts the measurement.
  void Begin();
  // Adds the number of steps at this time; neither argument may decrease.
  void Add(uint64_t step, Time now);

  // Steps per second over the last window; nullopt: too few samples.
  std::optional<double> now() const;
  // Rate over the last half of the run, including pauses, for an estimate of the remaining time.
  // Ignores a slow start.
  std::optional<double> lasting() const;
  // The time that `now` covers.
  Time::duration seen() const {
    return recent_.empty() ? Time::duration{} : last_.time - recent_.front().time;
  }

 private:
  struct Sample {
    Time time;
    uint64_t step;
  };
  static std::optional<double> Between(const Sample& first, const Sample& last);

  Sample last_{};
  std::deque<Sample> recent_;   // oldest first; the first one begins the window
  std::vector<Sample> course_;  // the whole run, thinned
  Time::duration spacing_{};    // between the samples of course_
};

}  // namespace autodist::progress
