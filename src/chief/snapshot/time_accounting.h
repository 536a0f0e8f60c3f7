// Accounts for the time of a job: reports what happens to snapshot::GoodputAccounting, with the
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "files/newest_file.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/recovery_times.h"

namespace autodist::chief {

// Scans the folder on detached threads, because its server may not answer. Used on the loop's
// thread.
class CheckpointWatch {
 public:
  // The interval of scans; at most one part in kShare of the time is spent on scans, because each
  // asks the file server about every file.
  static constexpr std::chrono::milliseconds kInterval{5'000};
  static constexpr int kShare = 20;

  struct Seen {
    std::optional<Loop::Time> written;     // the newest; absent: none
    std::optional<files::DatedFile> file;  // the same
  };

  CheckpointWatch(std::string folder, Loop& loop, std::vector<std::string> left_out = {});

  // Starts a scan now, or after the running one. Does not block.
  void Update();
  // Returns the result of the last finished scan, once; absent: nothing new. Does not block.
  std::optional<Seen> Take();
  // The same for the running scan, for which it waits up to the limit.
  std::optional<Seen> Await(std::chrono::milliseconds limit);

  // When to scan again; Time::max() during a scan.
  Loop::Time due() const { return looking_ ? Loop::Time::max() : due_; }

  // Returns whether the folder could ever be read.
  bool seen() const { return seen_; }

 private:
  struct Shared;

  const std::string folder_;
  const std::vector<std::string> left_out_;
  Loop& loop_;
  const std::shared_ptr<Shared> shared_;
  bool looking_ = false;
  bool again_ = false;  // after the running scan
  bool seen_ = false;
  Loop::Time due_{};
  Loop::Time began_{};       // start of the running scan
  Loop::Time looked_{};      // start of the last scan that could read the folder
  files::DatedFile newest_;  // of all scans
  Loop::Time written_{};     // that time by the chief's clock
};

// Uses a monotonic clock. Also watches for checkpoints: the training since the last one is lost if
// an attempt fails. Used on the loop's thread.
class TimeAccounting {
 public:
  // `loop` and `nodes` must outlive it. `checkpoints`: their folder, or ""; `logs`: without any.
  TimeAccounting(const std::string& checkpoints, const std::vector<std::string>& logs, Loop& loop,
                 const Fleet& nodes);

  // An attempt is being started; its ranks start; all run; one has made a step, which also shows
  // that they run; they are to end. `attempt`: its number. `at`: when it was made. `notice`: how
  // long the cause had existed before.
  void Launches(uint32_t attempt);
  void BeginAttempt();
  void Runs(Loop::Time at);
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
  const std::optional<files::DatedFile>& newest_file() const { return newest_file_; }
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
  std::optional<files::DatedFile> newest_file_;
  snapshot::RecoveryTimes recoveries_;
  bool starting_ = false;  // the ranks start, and are not known to run
  bool looks_ = false;     // watches them, from the first attempt on
  std::optional<Loop::Time> hung_since_;
  std::optional<int64_t> no_step_since_;  // as Elapsed; absent: the job makes steps
};

}  // namespace autodist::chief
