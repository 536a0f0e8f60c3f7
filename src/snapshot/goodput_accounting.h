// Where the wall time of a job goes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Its parts together are always all the time since the start. Times are in milliseconds.
// Pure logic; for one thread.
class GoodputAccounting {
 public:
  explicit GoodputAccounting(int64_t start_ms) : since_(start_ms) {}

  // An attempt is being started, for the first time or once more.
  void Launches(int64_t now_ms);
  // All its ranks run. Until they tell their first step, that counts as training.
  void Runs(int64_t now_ms);
  // A rank has told the attempt's first step: what was before is start-up.
  void FirstStep(int64_t now_ms);
  // The ranks do not get on, or do again: since then, which may be seen later only.
  void Stalls(int64_t now_ms, bool stalls);
  // The ranks are told to end. `failed`: not as they should; what was trained since the last
  // checkpoint is lost then, as far as checkpoints are looked for.
  void Stops(int64_t now_ms, bool failed = false);
  // Checkpoints were looked for: when the newest was written; absent: there is none. Who never
  // calls it knows of none, and nothing counts as lost. May tell of an attempt that has failed
  // until the ranks of the next one run.
  void Looked(std::optional<int64_t> checkpoint_ms);
  // Nothing follows.
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
  bool stepped_ = false;                                       // in this attempt
  int64_t since_;                                              // when the phase began
  int64_t training_before_ = 0;                                // this attempt
  bool looked_ = false;                                        // for checkpoints
  bool failed_ = false;                                        // the attempt that ran last
  int64_t saved_until_ = std::numeric_limits<int64_t>::min();  // the newest checkpoint
  std::vector<Span> unsaved_;  // when that attempt trained after it; the oldest first
  v1::GoodputParts booked_;
};

// The share of the time that was training, 0 to 1; absent before there was any time.
std::optional<double> Goodput(const v1::GoodputParts& spent);
int64_t Total(const v1::GoodputParts& spent);  // milliseconds

}  // namespace autodist::snapshot
