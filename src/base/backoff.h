// Exponential back-off with jitter, for example between attempts to reach a node. Pure logic.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

#include "base/random.h"

namespace autodist::base {

// Each delay is twice the previous one, up to a limit, with a random factor of about 0.5 to 1.5, so
// that many nodes are not retried at the same moment.
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
