// Responds to a suspected hang: collects the ranks' stacks, which confirm or refute it.
#pragma once

#include <optional>
#include <string>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/sample.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/hang/hang_watch.h"
#include "chief/hang/stack_collector.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"

namespace autodist::chief {

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

  // Requests stacks because a rank waited in vain, to find the missing ranks before all are
  // stopped. StopIsDue is true within kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // Returns whether the ranks have to be stopped now: they hang, and their stacks are as complete
  // as they will be.
  bool StopIsDue();
  // When to call StopIsDue again, and with `running` also Hangs.
  Loop::Time next(bool running) const {
    return running ? std::min({stacks_.due(), watch_.next(), look_again_, step_expected_})
                   : stacks_.due();
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
