// Where the time of a job goes: tells snapshot::GoodputAccounting what happens, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "autodist/v1/snapshot.pb.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/snapshot/checkpoint_watch.h"
#include "snapshot/goodput_accounting.h"

namespace autodist::chief {

// By a clock that nobody sets. Looks for checkpoints, too: what was trained since the last one is
// lost where an attempt fails. For the loop's thread.
class TimeAccounting {
 public:
  // What is given must outlive it. `checkpoints`: their folder; "": nobody knows where they are.
  TimeAccounting(const std::string& checkpoints, Loop& loop, const Fleet& nodes);

  // An attempt is being started; its ranks start; all run; one has made a step; they are to end.
  void Launches();
  void BeginAttempt() { looks_ = checkpoints_.has_value(); }
  void Runs() { accounting_.Runs(Elapsed(loop_.Now())); }
  void FirstStep() { accounting_.FirstStep(Elapsed(loop_.Now())); }
  void Stops(bool failed) { accounting_.Stops(Elapsed(loop_.Now()), failed); }

  // The ranks have hung since then, or do not. Whether that is new.
  bool RanksHang(std::optional<Loop::Time> since);
  std::optional<std::chrono::milliseconds> hung_for() const;
  // The job has made no step for so long, or makes steps. Whether that has changed.
  bool MakesNoStep(std::optional<std::chrono::milliseconds> time);
  // A node is away, or is no longer.
  void BookStalls();

  // The job is over. Blocks for a moment where the checkpoints' folder is slow.
  void End();

  v1::GoodputParts Now() const { return accounting_.At(Elapsed(loop_.Now())); }
  // Whether checkpoints are to be looked for in a folder that could never be read.
  bool missed_checkpoints() const { return checkpoints_ && !checkpoints_->seen(); }

 private:
  int64_t Elapsed(Loop::Time at) const;  // milliseconds, since it was made
  Loop::Time Update();
  void BookCheckpoint(const std::optional<CheckpointWatch::Seen>& seen);

  Loop& loop_;
  const Fleet& nodes_;
  const Loop::Time began_;
  snapshot::GoodputAccounting accounting_;
  std::optional<CheckpointWatch> checkpoints_;  // absent: nobody knows where they are
  bool looks_ = false;                          // at them, from the first attempt on
  std::optional<Loop::Time> hung_since_;
  std::optional<int64_t> no_step_since_;  // as Elapsed; absent: the job makes steps
};

}  // namespace autodist::chief
