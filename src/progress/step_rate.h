// How fast steps are made, by one's own clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace autodist::progress {

using Time = std::chrono::steady_clock::time_point;

// Of bounded size. Not thread-safe.
class StepRate {
 public:
  // The last window, whichever is longer.
  static constexpr std::chrono::seconds kWindow{5};
  static constexpr uint64_t kWindowSteps = 20;

  // Steps are counted anew.
  void Begin();
  // So many steps have been made by then; neither ever falls.
  void Add(uint64_t step, Time now);

  // Steps per second over the last window; nullopt: too little is known.
  std::optional<double> now() const;
  // Over the last half of the time, pauses and all: what is still to come will take as long. A slow
  // beginning does not count for ever.
  std::optional<double> lasting() const;
  // How long `now` looks back.
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
  std::vector<Sample> course_;  // all of it, thinned
  Time::duration spacing_{};    // of these
};

}  // namespace autodist::progress
