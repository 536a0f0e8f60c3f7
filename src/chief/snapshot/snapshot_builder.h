// Builds the snapshots of a job that clients see.
#pragma once

#include <algorithm>
#include <cstdint>
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
#include "chief/snapshot/job_status_recorder.h"
#include "chief/snapshot/time_accounting.h"
#include "issues/issue_detector.h"

namespace autodist::chief {

// The state of nodes and ranks as reported by agents: the largest part of a snapshot. Used on the
// loop's thread only. A sample only replaces the previous one.
class ReportedState {
 public:
  // The arguments must outlive it.
  ReportedState(const Loop& loop, const Fleet& nodes)
      : loop_(loop), nodes_(nodes), samples_(nodes.size()) {}

  // The ranks of another attempt start.
  void BeginAttempt() {
    pids_.clear();
    ends_.clear();
  }
  // Takes a validated event of a member. Returns whether it changes this state.
  bool Take(const v1::AgentEvent& event);
  void TakeSample(uint32_t node, v1::NodeSample sample) { samples_[node] = std::move(sample); }
  // The number of started processes of the attempt.
  size_t started() const { return pids_.size(); }

  // Adds nodes and ranks to a snapshot that has the job's status and the time.
  void AddTo(v1::JobSnapshot& snapshot, const Attempt& attempt) const;

 private:
  struct RankEnd {
    std::string how;
    uint32_t code = 0;
    int64_t ms = 0;  // since 1970
  };

  void AddNodes(v1::JobSnapshot& snapshot) const;
  void AddRank(const Attempt& attempt, uint32_t node, const v1::RankPlan& planned,
               v1::RankSnapshot& rank) const;

  const Loop& loop_;
  const Fleet& nodes_;
  std::vector<std::optional<v1::NodeSample>> samples_;  // the last, by node
  std::unordered_map<uint32_t, int32_t> pids_;          // of this attempt, as are ends_
  std::unordered_map<uint32_t, RankEnd> ends_;
};

// Used on the loop's thread; only End and LookForCheckpoints block. A snapshot is made when a
// client asks for one or the history is due, once per version and for all clients: that takes long
// with thousands of ranks.
class SnapshotBuilder {
 public:
  using Snapshot = std::shared_ptr<const v1::JobSnapshot>;

  // The arguments must outlive it.
  SnapshotBuilder(const JobOptions& options, Loop& loop, const Fleet& nodes,
                  const OutputRouter& output, const JobStatusRecorder& recorder)
      : options_(options),
        loop_(loop),
        nodes_(nodes),
        output_(output),
        recorder_(recorder),
        reported_(loop, nodes),
        times_(options.request().checkpoint_dir(),
               {options.request().log_dir(), options.log_folder.path()}, loop, nodes) {}

  // Another attempt is being started; its ranks start; they are asked to end.
  void Launches(uint32_t attempt);
  void BeginAttempt();
  void Stops(const Attempt& attempt);
  // A node was disconnected or reconnected; the ranks hang since `since`, or do not.
  void NodesChanged();
  void RanksHang(std::optional<Loop::Time> since);

  // The issue of a job without steps or activity, by the last snapshot, without its cause.
  const std::optional<v1::Issue>& standstill() const { return standstill_; }
  // The cause of it, with its ranks, for all views; absent: unknown.
  void SetStandstillCause(std::optional<v1::Issue> cause);

  // Takes a validated event of a member of the attempt, and a sample of a node.
  void Take(const v1::AgentEvent& event, const Attempt& attempt);
  void TakeSample(uint32_t node, v1::NodeSample sample);

  Snapshot Now(const Attempt& attempt);
  // The same, or the previous snapshot if that is not much older than the time to make one. Returns
  // only the version if that is `known`.
  Snapshot Answer(uint64_t known, const Attempt& attempt);
  // Returns an interval for periodic snapshots that take at most one part in kShare of a core.
  Loop::Time::duration Affordable(Loop::Time::duration interval) const {
    return std::max(interval, kShare * making_);
  }
  // Finds the checkpoints that were written until now. Blocks briefly if their folder is slow.
  void LookForCheckpoints() { times_.LookForCheckpoints(); }
  // The job is over. Blocks as LookForCheckpoints.
  void End();
  const TimeAccounting& times() const { return times_; }

 private:
  // Clients may receive a snapshot whose age is at most this times the time it took to make.
  static constexpr int kShare = 20;

  void NoteStandstill(const Attempt& attempt, v1::JobSnapshot& snapshot);
  void AddCause(v1::Issue& standstill) const;
  uint64_t Version(const Attempt& attempt);
  void Fill(const Attempt& attempt, v1::JobSnapshot& snapshot);

  const JobOptions& options_;
  Loop& loop_;
  const Fleet& nodes_;
  const OutputRouter& output_;
  const JobStatusRecorder& recorder_;
  ReportedState reported_;
  TimeAccounting times_;
  issues::IssueDetector detector_;
  std::optional<v1::Issue> standstill_;
  std::optional<v1::Issue> cause_;  // of it
  uint64_t changes_ = 1;
  uint64_t reports_ = 0;           // version of the ranks' reports in changes_
  Snapshot snapshot_;              // the last one; null: none
  Loop::Time made_{};              // when it was made
  Loop::Time::duration making_{};  // how long that took
};

}  // namespace autodist::chief
