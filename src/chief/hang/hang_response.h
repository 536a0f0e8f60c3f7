// What is done where ranks seem to hang, or the user wants to know what they are doing: their
// stacks are written down.
#pragma once

#include <optional>
#include <string>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/sample.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/hang/hang_watch.h"
#include "chief/hang/stack_collection.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"

namespace autodist::chief {

// How long all nodes have to tell what their ranks are doing.
inline constexpr std::chrono::milliseconds kStacksLimit{40'000};
// Between the two looks at what ranks are doing that only seem to hang.
inline constexpr std::chrono::seconds kBetweenLooks{4};
// How long nodes have to tell what those are doing for which a rank has waited in vain.
inline constexpr std::chrono::seconds kMissingLimit{10};
// Where hangs are found by the time of a step: when none has been recognised by then, the user is
// informed of it.
inline constexpr std::chrono::seconds kStepExpected{300};

// For the loop's thread; never blocks.
class HangResponse {
 public:
  // What is given must outlive it.
  HangResponse(const JobOptions& options, Loop& loop, Fleet& nodes, Console& console)
      : on_hang_(options.request().on_hang()),
        by_steps_(HangLimitOf(options.request()).by_steps),
        watch_(HangLimitOf(options.request())),
        loop_(loop),
        nodes_(nodes),
        console_(console) {}

  // Ranks start: what was asked of others does not count any more.
  void BeginAttempt() {
    Finish();
    stop_after_ = spoke_ = false;
    began_ = loop_.Now();
    watch_.Begin(began_);
    if (by_steps_ && !no_step_told_) step_expected_ = loop_.Now() + kStepExpected;
  }
  // A rank, or what it may be waiting for, gave a sign of life.
  void Alive(Loop::Time when) { watch_.Alive(when); }
  // When one wrote something last.
  void Wrote(Loop::Time last) {
    spoke_ |= last > began_;
    watch_.Alive(last);
  }
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

  // Asks every member for the stacks of its ranks, unless they are being asked.
  void AskForStacks(const Attempt& attempt);
  // The same, for who wants to know, and to have the whole stacks of these ranks; the answer comes
  // within kStacksLimit.
  void AskForStacks(const Attempt& attempt, std::vector<uint32_t> whole, bool flight_records,
                    StacksAnswer answer);
  // A rank has waited in vain: who is missing is to be known before all are stopped. StopIsDue is
  // true within kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // Of the last such look; "": it shows nobody.
  const std::string& missing() const { return missing_; }
  void Take(uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node);

  // Whether the ranks have to be stopped now: they hang, and their stacks are as complete as they
  // will be.
  bool StopIsDue();
  // When to ask again for either, and for Hangs only while the ranks are running.
  Loop::Time next(bool running) const {
    return running ? std::min({due_, watch_.next(), look_again_, step_expected_}) : due_;
  }
  // Waits for no more stacks. Not after the attempt has gone.
  void Finish();

 private:
  // What is only guessed, by the time of a step or as no rank has written anything yet, is a hang
  // if two looks show no rank at work: programs may be loaded for long.
  enum class Guess { kNone, kFirstLook, kPause, kSecondLook };

  void Ask(const Attempt& attempt, bool flight_records = true);
  void LookAgain(const Attempt& attempt);
  void Decide();
  void Forget();
  void FinishLook();
  void TellOfNoStep();
  void TellHang();
  std::string WhyUnknown(const std::string& address, uint32_t node) const;

  const v1::OnHang on_hang_;
  const bool by_steps_;  // so what hangs is only guessed
  HangWatch watch_;
  Loop& loop_;
  Fleet& nodes_;
  Console& console_;
  Loop::Time began_{};                     // the attempt
  std::optional<StackCollection> stacks_;  // while nodes are being asked
  std::shared_ptr<HangVerdict> verdict_;   // of the attempt whose stacks these are
  bool told_here_ = false;                 // who is at our terminal is told of them
  Loop::Time due_ = Loop::Time::max();
  bool stop_after_ = false;
  bool spoke_ = false;  // a rank of this attempt has written something
  bool looks_for_missing_ = false;
  std::string missing_;
  Guess guess_ = Guess::kNone;
  std::string report_;  // of the hang that is guessed
  Doings earlier_;      // of the first look
  Loop::Time look_again_ = Loop::Time::max();
  Loop::Time step_expected_ = Loop::Time::max();
  bool no_step_told_ = false;
};

}  // namespace autodist::chief
