// Detects that the ranks of an attempt have given no sign of life for too long. Pure logic.
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

// The time without a sign of life of any rank after which they hang.
struct HangLimit {
  std::chrono::milliseconds fixed{0};  // 0: no limit
  // Derives the limit from the time of a step, once known: kSteps steps, or kSilences times the
  // longest earlier silence that ended, and at least kMin.
  bool by_steps = false;

  static constexpr int kSteps = 10;
  static constexpr int kSilences = 3;
  static constexpr std::chrono::seconds kMin{60};
};

// Returns the limit of --hang-timeout.
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
  // A rank, or something it may be waiting for, gave a sign of life.
  void Alive(Time now) {
    if (now <= last_) return;
    if (step_) silence_ = std::max(silence_, now - last_);
    last_ = now;
    reported_ = false;
  }
  // The current time of a step, in the median over ranks.
  void StepTakes(std::chrono::milliseconds time) { step_ = time; }

  // True once for each hang.
  bool Hangs(Time now) {
    const auto max_silence = limit();
    if (max_silence.count() == 0) return false;
    if (now < last_ + max_silence) return false;
    return !std::exchange(reported_, true);
  }
  // When to call Hangs again.
  Time next() const { return limit().count() == 0 || reported_ ? Time::max() : last_ + limit(); }
  // The last sign of life of ranks that hang.
  std::optional<Time> hung_since() const { return reported_ ? std::optional(last_) : std::nullopt; }
  // Returns whether the limit follows the time of a step, so that a hang is only a guess.
  bool by_steps() const { return limit_.by_steps; }
  // 0: no limit.
  std::chrono::milliseconds limit() const {
    if (!limit_.by_steps || !step_) return limit_.fixed;
    const auto silence = std::chrono::duration_cast<std::chrono::milliseconds>(silence_);
    return std::max<std::chrono::milliseconds>(
        {HangLimit::kMin, HangLimit::kSteps * *step_, HangLimit::kSilences * silence});
  }

 private:
  const HangLimit limit_;
  Time last_{};
  Time::duration silence_{};                       // the longest, since the time of a step is known
  std::optional<std::chrono::milliseconds> step_;  // of this attempt
  bool reported_ = false;
};

}  // namespace autodist::chief
