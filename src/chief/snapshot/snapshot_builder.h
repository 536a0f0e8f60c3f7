// A job as one looks at it, and how it was: snapshot and history, for who asks and for the log
// folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/output/output_router.h"
#include "chief/snapshot/checkpoint_watch.h"
#include "chief/snapshot/issue_warnings.h"
#include "chief/snapshot/job_status_recorder.h"
#include "issues/issue_detector.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/history.h"

namespace autodist::chief {

// For the loop's thread, which it does not block. A sample only replaces the one before; a snapshot
// is made where a client asks for one, or the history is due, once for each version and for all
// that ask: in a job of thousands of ranks that takes long.
class SnapshotBuilder {
 public:
  using Warn = std::function<void(const IssueWarning& warning)>;
  using Snapshot = std::shared_ptr<const v1::JobSnapshot>;

  // What is given must outlive it. `warn` is called by Tick.
  SnapshotBuilder(const JobOptions& options, Loop& loop, const Fleet& nodes,
                  const OutputRouter& output, const JobStatusRecorder& recorder, Warn warn);

  // An attempt is being started; its ranks start; they are told to end.
  void Launches();
  void BeginAttempt();
  void Stops(const Attempt& attempt);
  // A node is away, or is no longer; the ranks have hung since then, or do not.
  void NodesChanged();
  void RanksHang(std::optional<Loop::Time> since);

  // What a member of the attempt tells, once it is believed; how a node is.
  void Take(const v1::AgentEvent& event, const Attempt& attempt);
  void TakeSample(uint32_t node, v1::NodeSample sample);

  Snapshot Now(const Attempt& attempt);
  // The same, or where that is not much older than it took to make, the one before; with nothing
  // but its version where that is `known`.
  Snapshot Answer(uint64_t known, const Attempt& attempt);
  v1::History Since(int64_t since_ms) const { return history_.Since(since_ms); }

  // Of this attempt, in the median over ranks, as Tick saw it last; absent: not known yet.
  std::optional<std::chrono::milliseconds> step_time() const { return step_time_; }
  // Adds to the history what is due, and warns of what has become slow; returns when to be called
  // again.
  Loop::Time Tick(const Attempt& attempt);
  // The job is over. What is kept of it is written, in the background. Blocks for a moment where
  // the checkpoints' folder is slow.
  void End(const Attempt& attempt);
  // Where its time went, once it is over.
  v1::GoodputParts ledger() const { return ledger_.At(0); }
  // Whether checkpoints are to be looked for in a folder that could never be read.
  bool missed_checkpoints() const { return checkpoints_ && !checkpoints_->seen(); }

 private:
  int64_t Elapsed() const;  // milliseconds
  int64_t Elapsed(Loop::Time at) const;
  void BookStalls();
  void NoteStandstill(const Attempt& attempt, v1::JobSnapshot& snapshot);
  uint64_t Version(const Attempt& attempt);
  void Fill(const Attempt& attempt, v1::JobSnapshot& snapshot);
  void BookCheckpoint(const std::optional<CheckpointWatch::Seen>& seen);
  void AddNodes(v1::JobSnapshot& snapshot) const;
  void AddRanks(const Attempt& attempt, v1::JobSnapshot& snapshot) const;
  void AddRank(const Attempt& attempt, uint32_t node, const v1::RankPlan& planned,
               v1::RankSnapshot& rank) const;
  void Write(const Attempt& attempt);
  void PrintProgress(const v1::JobSnapshot& snapshot);

  const JobOptions& options_;
  Loop& loop_;
  const Fleet& nodes_;
  const OutputRouter& output_;
  const JobStatusRecorder& recorder_;
  const Warn warn_;
  const Loop::Time began_;
  const std::chrono::milliseconds point_interval_;  // of the history

  uint64_t changes_ = 1;
  uint64_t printed_step_ = 0;
  uint64_t told_ = 0;              // by ranks, that the version takes into account
  Snapshot snapshot_;              // that was made last; null: none
  Loop::Time made_{};              // when
  Loop::Time::duration making_{};  // took so long
  std::vector<std::optional<v1::NodeSample>> samples_;  // the last, by node
  std::unordered_map<uint32_t, int32_t> pids_;          // of this attempt
  struct RankEnd {
    std::string how;
    int64_t ms = 0;  // since 1970
  };
  std::unordered_map<uint32_t, RankEnd> ends_;
  issues::IssueDetector detector_;
  IssueWarnings warnings_;
  std::optional<Loop::Time> hung_since_;
  std::optional<int64_t> no_step_since_;  // since we began; absent: the job makes steps
  std::optional<std::chrono::milliseconds> step_time_;
  snapshot::History history_;
  snapshot::GoodputAccounting ledger_;
  std::optional<CheckpointWatch> checkpoints_;  // absent: nobody knows where they are
  bool looks_ = false;                          // at them, from the first attempt on
  Loop::Time point_at_ = Loop::Time::max();     // the next of the history
  Loop::Time write_at_ = Loop::Time::max();
  Loop::Time print_at_ = Loop::Time::max();  // progress as JSON
  int64_t point_ms_ = 0;                     // of the last, since we began
};

}  // namespace autodist::chief
