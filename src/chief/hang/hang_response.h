// Responds to a suspected hang: collects the ranks' stacks, which confirm or refute it.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/sample.pb.h"
#include "base/duration.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/hang/stack_collector.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"

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

// Detects that the ranks of an attempt have given no sign of life for too long. Pure logic.
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

// Between the two stack collections of a guessed hang.
inline constexpr std::chrono::seconds kBetweenLooks{4};
// Where the limit follows the time of a step: if no step has been recognised by then, the user is
// warned.
inline constexpr std::chrono::seconds kStepExpected{300};

// Used on the loop's thread only; never blocks.
class HangResponse {
 public:
  // The arguments must outlive this object.
  HangResponse(const JobOptions& options, Loop& loop, const Fleet& nodes, Console& console,
               StackCollector& stacks)
      : on_hang_(options.request().on_hang()),
        watch_(HangLimitOf(options.request())),
        loop_(loop),
        nodes_(nodes),
        console_(console),
        stacks_(stacks) {}

  // Resets the watch and drops pending collections, because ranks start.
  void BeginAttempt();
  // A rank, or something it may be waiting for, gave a sign of life.
  void Alive(Loop::Time when) { watch_.Alive(when); }
  // The current time of a step, and a sample of a node.
  void StepTakes(std::chrono::milliseconds time) { watch_.StepTakes(time); }
  void TakeSample(const v1::NodeSample& sample);
  std::chrono::milliseconds limit() const { return watch_.limit(); }
  // Returns whether the ranks of a running attempt hang since this call; then requests their
  // stacks.
  bool Hangs(const Attempt& attempt);

  // The last sign of life of ranks that hang, unless the hang is only a guess.
  std::optional<Loop::Time> hung_since() const {
    return guess_ == Guess::kNone ? watch_.hung_since() : std::nullopt;
  }

  // Returns whether stacks will be requested when a fixed limit expires.
  bool awaits_limit() const {
    return watch_.limit().count() > 0 && !watch_.by_steps() && !watch_.hung_since();
  }

  // Requests stacks because a rank waited in vain, to find the missing ranks before all are
  // stopped. StopIsDue is true within kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // Returns whether the ranks have to be stopped now: they hang, and their stacks are as complete
  // as they will be.
  bool StopIsDue();
  // When to call StopIsDue again, and with `running` also Hangs.
  Loop::Time next(bool running) const {
    if (!running) return stacks_.due();
    // A look at a hang awaits the end of another collection.
    const Loop::Time look = stacks_.collects() ? Loop::Time::max() : look_again_;
    return std::min({stacks_.due(), watch_.next(), look, step_expected_});
  }
  // Ends pending collections. Called while the attempt exists.
  void Finish();

 private:
  // A hang is a guess if it is detected by the time of a step, or before any output. It is
  // confirmed if no rank is at work in two stack collections, because programs may load for long.
  enum class Guess { kNone, kFirstLook, kPause, kSecondLook };

  void LookAgain(const Attempt& attempt);
  void Decide(StackCollection& stacks);
  void Forget();
  void WarnOfNoStep();
  void ShowHang();

  const v1::OnHang on_hang_;
  HangWatch watch_;
  Loop& loop_;
  const Fleet& nodes_;
  Console& console_;
  StackCollector& stacks_;
  bool stop_after_ = false;
  Guess guess_ = Guess::kNone;
  std::string report_;  // of the guessed hang
  Activities earlier_;  // of the first collection
  Loop::Time look_again_ = Loop::Time::max();
  Loop::Time step_expected_ = Loop::Time::max();
  bool no_step_warned_ = false;
};

}  // namespace autodist::chief
