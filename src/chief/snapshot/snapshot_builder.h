// A job as one looks at it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/output/output_router.h"
#include "chief/snapshot/job_status_recorder.h"
#include "chief/snapshot/reported_state.h"
#include "chief/snapshot/time_accounting.h"
#include "issues/issue_detector.h"

namespace autodist::chief {

// For the loop's thread, which it does not block but in End. A snapshot is made where a client asks
// for one, or the history is due, once for each version and for all that ask: in a job of thousands
// of ranks that takes long.
class SnapshotBuilder {
 public:
  using Snapshot = std::shared_ptr<const v1::JobSnapshot>;

  // What is given must outlive it.
  SnapshotBuilder(const JobOptions& options, Loop& loop, const Fleet& nodes,
                  const OutputRouter& output, const JobStatusRecorder& recorder)
      : options_(options),
        loop_(loop),
        nodes_(nodes),
        output_(output),
        recorder_(recorder),
        reported_(loop, nodes),
        times_(options.request().checkpoint_dir(), loop, nodes) {}

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
  // What nothing but the time asks for is done so often, and takes no more than a part in kShare of
  // a core.
  Loop::Time::duration Affordable(Loop::Time::duration interval) const {
    return std::max(interval, kShare * making_);
  }
  // The job is over. Blocks for a moment where the checkpoints' folder is slow.
  void End();
  const TimeAccounting& times() const { return times_; }

 private:
  // A viewer is shown a snapshot that is no older than this times what it took to make.
  static constexpr int kShare = 20;

  void NoteStandstill(const Attempt& attempt, v1::JobSnapshot& snapshot);
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
  uint64_t changes_ = 1;
  uint64_t reports_ = 0;           // by ranks, that the version takes into account
  Snapshot snapshot_;              // that was made last; null: none
  Loop::Time made_{};              // when
  Loop::Time::duration making_{};  // took so long
};

}  // namespace autodist::chief
