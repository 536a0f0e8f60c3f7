// Exponential back-off with jitter: how long to wait between tries, to reach a node say. Pure
// logic.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

#include "base/random.h"

namespace autodist::base {

// Each is twice as long as the one before, up to a limit, and about half of it more or less, so
// that many nodes are not tried again at the same moment.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{200};
  static constexpr std::chrono::milliseconds kLongest{1'600};

  explicit Backoff(uint64_t seed = RandomNumber(), std::chrono::milliseconds longest = kLongest)
      : random_(seed), longest_(longest) {}

  std::chrono::milliseconds Next() {
    const double jitter = std::uniform_real_distribution<>(0.5, 1.5)(random_);
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(wait_ * jitter);
    wait_ = std::min(wait_ * 2, longest_);
    return wait;
  }

 private:
  std::mt19937_64 random_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds wait_ = kFirst;
};

}  // namespace autodist::base
