// Where the wall time of a job goes.
#pragma once

#include <cstdint>
#include <optional>

#include "autodist/v1/board.pb.h"

namespace autodist::board {

// Its parts together are always all the time since the start. Times are in milliseconds.
// Pure logic; for one thread.
class Ledger {
 public:
  explicit Ledger(int64_t start_ms) : since_(start_ms) {}

  // An attempt is being started, for the first time or once more.
  void Launches(int64_t now_ms);
  // All its ranks run. Until they tell their first step, that counts as training.
  void Runs(int64_t now_ms);
  // A rank has told the attempt's first step: what was before is start-up.
  void FirstStep(int64_t now_ms);
  // The ranks do not get on, or do again.
  void Stalls(int64_t now_ms, bool stalls);
  // The ranks are told to end.
  void Stops(int64_t now_ms);
  // Nothing follows.
  void Ends(int64_t now_ms);

  v1::Ledger At(int64_t now_ms) const;

 private:
  enum class Phase { kLaunching, kRunning, kStalled, kStopping, kEnded };

  void Enter(Phase phase, int64_t now_ms);
  void Book(v1::Ledger& ledger, int64_t now_ms) const;

  Phase phase_ = Phase::kLaunching;
  bool restarted_ = false;
  bool stepped_ = false;         // in this attempt
  int64_t since_;                // when the phase began
  int64_t training_before_ = 0;  // this attempt
  v1::Ledger booked_;
};

// The share of the time that was training, 0 to 1; absent before there was any time.
std::optional<double> Goodput(const v1::Ledger& ledger);
int64_t Total(const v1::Ledger& ledger);  // milliseconds

}  // namespace autodist::board
