// Accounts for the time of a job: reports what happens to snapshot::GoodputAccounting, with the
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/snapshot/checkpoint_watch.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/recovery_times.h"

namespace autodist::chief {

// Uses a monotonic clock. Also watches for checkpoints: the training since the last one is lost if
// an attempt fails. Used on the loop's thread.
class TimeAccounting {
 public:
  // The arguments must outlive it. `checkpoints`: their folder; "": unknown.
  TimeAccounting(const std::string& checkpoints, Loop& loop, const Fleet& nodes);

  // An attempt is being started; its ranks start; all run; one has made a step; they are to end.
  // `attempt`: its number. `at`: when it was made. `notice`: how long the cause had existed before.
  void Launches(uint32_t attempt);
  void BeginAttempt();
  void Runs();
  void FirstStep(Loop::Time at);
  void Stops(bool failed, Loop::Time::duration notice);

  // The ranks hang since `since`, or do not. Returns whether that is new.
  bool RanksHang(std::optional<Loop::Time> since);
  std::optional<std::chrono::milliseconds> hung_for() const;
  // The job has made no step for `time`, or makes steps. Returns whether that has changed.
  bool MakesNoStep(std::optional<std::chrono::milliseconds> time);
  // A node was disconnected or reconnected.
  void BookStalls();

  // Finds the checkpoints that were written until now. Blocks briefly if their folder is slow.
  void LookForCheckpoints();
  // The job is over. Blocks as LookForCheckpoints.
  void End();

  v1::GoodputParts Now() const { return accounting_.At(Elapsed(loop_.Now())); }
  const std::vector<v1::Recovery>& recoveries() const { return recoveries_.last(); }
  // When the newest known checkpoint was written.
  std::optional<Loop::Time> checkpoint() const { return checkpoint_; }
  // Its file, and when it was written by that file; absent: none is known.
  const std::optional<Checkpoint>& newest_file() const { return newest_file_; }
  // Returns whether the checkpoint folder was given but could never be read.
  bool missed_checkpoints() const { return checkpoints_ && !checkpoints_->seen(); }

 private:
  int64_t Elapsed(Loop::Time at) const;  // milliseconds since construction
  Loop::Time Update();
  void BookCheckpoint(const std::optional<CheckpointWatch::Seen>& seen);

  Loop& loop_;
  const Fleet& nodes_;
  const Loop::Time began_;
  snapshot::GoodputAccounting accounting_;
  std::optional<CheckpointWatch> checkpoints_;  // absent: their folder is unknown
  std::optional<Loop::Time> checkpoint_;        // the newest
  std::optional<Checkpoint> newest_file_;
  snapshot::RecoveryTimes recoveries_;
  bool looks_ = false;  // watches them, from the first attempt on
  std::optional<Loop::Time> hung_since_;
  std::optional<int64_t> no_step_since_;  // as Elapsed; absent: the job makes steps
};

}  // namespace autodist::chief
