// What is done where ranks seem to hang: their stacks are collected, and tell whether they do.
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

// Between the two looks at what ranks are doing that only seem to hang.
inline constexpr std::chrono::seconds kBetweenLooks{4};
// Where hangs are found by the time of a step: when none has been recognised by then, the user is
// informed of it.
inline constexpr std::chrono::seconds kStepExpected{300};

// For the loop's thread; never blocks.
class HangResponse {
 public:
  // What is given must outlive it.
  HangResponse(const JobOptions& options, Loop& loop, const Fleet& nodes, Console& console,
               StackCollector& stacks)
      : on_hang_(options.request().on_hang()),
        watch_(HangLimitOf(options.request())),
        loop_(loop),
        nodes_(nodes),
        console_(console),
        stacks_(stacks) {}

  // Ranks start: what was asked of others does not count any more.
  void BeginAttempt();
  // A rank, or what it may be waiting for, gave a sign of life.
  void Alive(Loop::Time when) { watch_.Alive(when); }
  // So long does a step take now; how a node is.
  void StepTakes(std::chrono::milliseconds time) { watch_.StepTakes(time); }
  void TakeSample(const v1::NodeSample& sample);
  std::chrono::milliseconds limit() const { return watch_.limit(); }
  // Whether the ranks of a running attempt hang since just now; their stacks are asked for.
  bool Hangs(const Attempt& attempt);

  // The last sign of life of ranks that hang, which nothing speaks against.
  std::optional<Loop::Time> hung_since() const {
    return guess_ == Guess::kNone ? watch_.hung_since() : std::nullopt;
  }

  // A rank has waited in vain: who is missing is to be known before all are stopped. StopIsDue is
  // true within kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // Whether the ranks have to be stopped now: they hang, and their stacks are as complete as they
  // will be.
  bool StopIsDue();
  // When to ask again for either, and for Hangs only while the ranks are running.
  Loop::Time next(bool running) const {
    return running ? std::min({stacks_.due(), watch_.next(), look_again_, step_expected_})
                   : stacks_.due();
  }
  // Waits for no more stacks. Not after the attempt has gone.
  void Finish();

 private:
  // What is only guessed, by the time of a step or as no rank has written anything yet, is a hang
  // if two looks show no rank at work: programs may be loaded for long.
  enum class Guess { kNone, kFirstLook, kPause, kSecondLook };

  void LookAgain(const Attempt& attempt);
  void Decide(StackCollection& stacks);
  void Forget();
  void TellOfNoStep();
  void TellHang();

  const v1::OnHang on_hang_;
  HangWatch watch_;
  Loop& loop_;
  const Fleet& nodes_;
  Console& console_;
  StackCollector& stacks_;
  bool stop_after_ = false;
  Guess guess_ = Guess::kNone;
  std::string report_;  // of the hang that is guessed
  Doings earlier_;      // of the first look
  Loop::Time look_again_ = Loop::Time::max();
  Loop::Time step_expected_ = Loop::Time::max();
  bool no_step_told_ = false;
};

}  // namespace autodist::chief
