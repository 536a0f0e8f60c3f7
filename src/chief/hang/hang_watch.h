// Whether the ranks of an attempt have given no sign of life for too long. Pure logic.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "autodist/v1/job_request.pb.h"
#include "base/duration.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// How long may pass without a sign of life of any rank.
struct HangLimit {
  std::chrono::milliseconds fixed{0};  // 0: any time
  // By the time of a step instead, once one is known: kSteps of them, or kSilences times as long as
  // the ranks have been silent before and went on, and not below kLeast.
  bool by_steps = false;

  static constexpr int kSteps = 10;
  static constexpr int kSilences = 3;
  static constexpr std::chrono::seconds kLeast{60};
};

// Of --hang-timeout.
inline HangLimit HangLimitOf(const v1::JobRequest& request) {
  const std::string& text = request.hang_timeout();
  if (text == "auto") return {.by_steps = true};
  return {.fixed = base::ToMilliseconds(base::ParseDuration(text).value_or(0))};
}

class HangWatch {
 public:
  using Time = Loop::Time;

  explicit HangWatch(HangLimit limit) : limit_(limit) {}

  // Ranks start.
  void Begin(Time now) {
    step_.reset();
    silence_ = {};
    last_ = now;
    reported_ = false;
  }
  // A rank, or what it may be waiting for, has given a sign of life.
  void Alive(Time now) {
    if (now <= last_) return;
    if (step_) silence_ = std::max(silence_, now - last_);
    last_ = now;
    reported_ = false;
  }
  // So long does a step take now, in the median over ranks.
  void StepTakes(std::chrono::milliseconds time) { step_ = time; }

  // True once for each hang.
  bool Hangs(Time now) {
    const auto longest = limit();
    if (longest.count() == 0) return false;
    if (now < last_ + longest) return false;
    return !std::exchange(reported_, true);
  }
  // When to ask again.
  Time next() const { return limit().count() == 0 || reported_ ? Time::max() : last_ + limit(); }
  // Their last sign of life, while they hang.
  std::optional<Time> hung_since() const { return reported_ ? std::optional(last_) : std::nullopt; }
  // Whether it goes by the time of a step, so that a hang is only guessed.
  bool by_steps() const { return limit_.by_steps; }
  // 0: none.
  std::chrono::milliseconds limit() const {
    if (!limit_.by_steps || !step_) return limit_.fixed;
    const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(silence_);
    return std::max<std::chrono::milliseconds>(
        {HangLimit::kLeast, HangLimit::kSteps * *step_, HangLimit::kSilences * silence});
  }

 private:
  const HangLimit limit_;
  Time last_{};
  Time::duration silence_{};                       // the longest, since a step is known
  std::optional<std::chrono::milliseconds> step_;  // of this attempt
  bool reported_ = false;
};

}  // namespace autodist::chief
