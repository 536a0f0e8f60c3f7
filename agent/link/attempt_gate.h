// Decides which orders about attempts an agent executes, and when. An attempt on a node is
// prepared, started and ended, in that order. Its orders have the number of the preparation, the
// generation, so that late ones change nothing. Pure logic; not thread-safe.
//
// A preparation works on a separate thread, which cannot be stopped at once. An order to end
// cancels it and does not wait for it; only the next preparation does, and the moment in which the
// node adopts the result.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "autodist/status.h"

namespace autodist::agent {

class AttemptGate {
 public:
  // What the caller has to do now.
  enum class Do : uint8_t {
    kNothing,
    kPrepare,  // begin the work of the latest preparation
    kCancel,   // stop the work of an earlier preparation; WorkEnded returns what follows
    kEnd,      // end everything, and call Ended then
  };

  // Another preparation was ordered; it replaces one that waits. kFailedPrecondition: refused.
  Result<Do> Prepare(uint64_t generation);
  // The result of the latest preparation is of no use.
  void CancelPreparation();
  // Called when the work is done: whether the node is to adopt the result. If so, no rank is
  // started or ended until WorkEnded.
  bool BeginAdopting();
  // The work has ended, and its result is adopted, or dropped: kNothing, kPrepare or kEnd.
  Do WorkEnded();

  // Whether to start the prepared ranks.
  bool Start(uint64_t generation);
  // Whether to stop the ranks.
  bool Stop(uint64_t generation);
  // kEnd, for which the work of a preparation is stopped, too; kNothing: the order is late, or
  // WorkEnded will return kEnd.
  Do End(uint64_t generation);
  // The same about all generations: nothing is prepared any more.
  Do Shutdown() { return End(kAll); }
  bool last() const { return generation_ == kAll; }  // after Shutdown
  // Nothing is left. Returns the generation of the last order to end; nullopt: it was reported.
  std::optional<uint64_t> Ended();

 private:
  static constexpr uint64_t kAll = UINT64_MAX;

  enum class State : uint8_t { kIdle, kPreparing, kAdopting, kPrepared, kRunning, kEnding };

  Do EndNow();

  State state_ = State::kIdle;
  uint64_t generation_ = 0;
  bool working_ = false;    // a preparation, which may be cancelled
  bool cancelled_ = false;  // that is
  bool waits_ = false;      // the latest preparation waits for it
  bool end_waits_ = false;  // an order to end waits until the result is adopted
};

inline Result<AttemptGate::Do> AttemptGate::Prepare(uint64_t generation) {
  const char* refused = nullptr;
  if (generation < generation_) refused = "another preparation has followed";
  if (last()) refused = "the agent ends";
  if (state_ == State::kRunning) refused = "ranks run on the node";
  if (state_ == State::kEnding || end_waits_) refused = "ranks on the node have yet to end";
  if (refused) return Error(StatusCode::kFailedPrecondition, refused);
  generation_ = generation;
  if (working_) {
    waits_ = true;
    if (state_ == State::kAdopting) return Do::kNothing;
    cancelled_ = true;
    state_ = State::kPreparing;
    return Do::kCancel;
  }
  state_ = State::kPreparing;
  working_ = true;
  return Do::kPrepare;
}

inline void AttemptGate::CancelPreparation() {
  waits_ = false;
  if (state_ != State::kPreparing) return;
  state_ = State::kIdle;
  cancelled_ = working_;
}

inline bool AttemptGate::BeginAdopting() {
  if (cancelled_) return false;
  state_ = State::kAdopting;
  return true;
}

inline AttemptGate::Do AttemptGate::WorkEnded() {
  working_ = cancelled_ = false;
  if (state_ == State::kAdopting) state_ = State::kPrepared;
  if (std::exchange(end_waits_, false)) return EndNow();
  if (!std::exchange(waits_, false)) return Do::kNothing;
  state_ = State::kPreparing;
  working_ = true;
  return Do::kPrepare;
}

inline bool AttemptGate::Start(uint64_t generation) {
  if (state_ != State::kPrepared || generation != generation_) return false;
  state_ = State::kRunning;
  return true;
}

inline bool AttemptGate::Stop(uint64_t generation) {
  return generation >= generation_ && (state_ == State::kRunning || state_ == State::kEnding);
}

inline AttemptGate::Do AttemptGate::End(uint64_t generation) {
  if (generation < generation_) return Do::kNothing;
  generation_ = generation;
  return EndNow();
}

inline AttemptGate::Do AttemptGate::EndNow() {
  waits_ = false;
  if (state_ == State::kAdopting) {
    end_waits_ = true;
    return Do::kNothing;
  }
  cancelled_ = working_;
  state_ = State::kEnding;
  return Do::kEnd;
}

inline std::optional<uint64_t> AttemptGate::Ended() {
  if (state_ != State::kEnding) return std::nullopt;
  state_ = State::kIdle;
  return generation_;
}

}  // namespace autodist::agent
