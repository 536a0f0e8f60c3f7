// Accounts for the wall time of a job by use.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// The parts always sum up to the time since the start. Times are in milliseconds. Pure logic; not
// thread-safe.
class GoodputAccounting {
 public:
  explicit GoodputAccounting(int64_t start_ms) : since_(start_ms) {}

  // An attempt starts, the first or a restart.
  void Launches(int64_t now_ms);
  // All ranks run. Until the first step is reported, this counts as training.
  void Runs(int64_t now_ms);
  // A rank has reported the attempt's first step: the time before becomes start-up.
  void FirstStep(int64_t now_ms);
  // The ranks have stalled, or continue: since `now_ms`, which may be in the past.
  void Stalls(int64_t now_ms, bool stalls);
  // The ranks are being stopped. `failed`: because of a failure, so training since the last
  // checkpoint is lost, if checkpoints are monitored.
  void Stops(int64_t now_ms, bool failed = false);
  // Reports a search for checkpoints: the time of the newest, or none. Without calls, nothing
  // counts as lost. After a failed attempt, may be called for it until the ranks of the next one
  // run.
  void Looked(std::optional<int64_t> checkpoint_ms);
  // The last call.
  void Ends(int64_t now_ms);

  v1::GoodputParts At(int64_t now_ms) const;

 private:
  enum class Phase { kLaunching, kRunning, kStalled, kStopping, kEnded };

  struct Span {
    int64_t begin;
    int64_t end;
  };

  void Enter(Phase phase, int64_t now_ms);
  void Book(v1::GoodputParts& spent, int64_t now_ms) const;
  void BookStart(v1::GoodputParts& spent, int64_t time) const;
  void BookLost(v1::GoodputParts& spent) const;
  void KeepUnsaved(Span span);

  Phase phase_ = Phase::kLaunching;
  bool restarted_ = false;
  bool stepped_ = false;                                       // the attempt has reported a step
  int64_t since_;                                              // start of the phase
  int64_t training_before_ = 0;                                // in this attempt
  bool looked_ = false;                                        // checkpoints are monitored
  bool failed_ = false;                                        // whether the last attempt failed
  int64_t saved_until_ = std::numeric_limits<int64_t>::min();  // time of the newest checkpoint
  std::vector<Span> unsaved_;  // training of that attempt after the checkpoint, oldest first
  v1::GoodputParts booked_;
};

// The share of the time that was training, 0 to 1; absent if no time has passed.
std::optional<double> Goodput(const v1::GoodputParts& spent);
// "94.1 %"; "99.5 %, steps unknown", as imports then count as training; "": no time has
// passed, or without known steps less than the start took.
std::string GoodputText(const v1::GoodputParts& spent);
int64_t Total(const v1::GoodputParts& spent);  // milliseconds

}  // namespace autodist::snapshot
