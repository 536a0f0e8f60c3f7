// Records a job over time: points in memory and in files of the log folder, progress as JSON, and a
// warning for each lasting issue.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "base/log.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/loop/loop.h"
#include "chief/snapshot/snapshot_builder.h"
#include "snapshot/history.h"

namespace autodist::chief {

// A warning about a slow part of a running job, for its terminal.
struct IssueWarning {
  std::string address;  // of the node
  std::string what;     // one line
};

// Reports each issue of a sequence of snapshots once. Not thread-safe.
class IssueWarnings {
 public:
  static constexpr size_t kMaxLines = 20;  // lines per attempt

  // A new attempt begins: all issues are new.
  void Begin() {
    reported_.clear();
    lines_ = 0;
  }
  // Returns new warnings: none that was returned for the same rank or node and cause, and none that
  // the chief reports by itself, such as a failed rank or a disconnected node.
  std::vector<IssueWarning> Take(const v1::JobSnapshot& snapshot);

 private:
  void Add(const v1::JobSnapshot& snapshot, const v1::Issue& issue, std::string what,
           std::vector<IssueWarning>& warnings);

  std::set<std::string> reported_;  // see KeyOf
  size_t lines_ = 0;
};

// Used on the loop's thread, which it does not block.
class JobHistory {
 public:
  using Warn = std::function<void(const IssueWarning& warning)>;

  // The arguments must outlive it; `nodes` is the number of nodes. `warn` is called by Tick.
  JobHistory(const JobOptions& options, uint32_t nodes, Loop& loop, SnapshotBuilder& snapshot,
             Warn warn);

  void BeginAttempt();
  // Does the work that is due; returns when to call it again.
  Loop::Time Tick(const Attempt& attempt);
  // Writes the files in the background; the job is over.
  void End(const Attempt& attempt);

  v1::History Since(int64_t since_ms) const { return history_.Since(since_ms); }
  // Of this attempt, in the median over ranks, at the last Tick; absent: unknown.
  std::optional<std::chrono::milliseconds> step_time() const { return step_time_; }

 private:
  void AddPoint(const Attempt& attempt);
  void PrintProgress(const v1::JobSnapshot& snapshot);
  void Write(const Attempt& attempt);
  void WriteJson(const google::protobuf::Message& message, const std::string& name);

  const JobOptions& options_;
  Loop& loop_;
  SnapshotBuilder& snapshot_;
  const Warn warn_;
  const std::chrono::milliseconds point_interval_;
  IssueWarnings warnings_;
  snapshot::History history_;
  std::optional<std::chrono::milliseconds> step_time_;
  std::optional<uint64_t> printed_step_;
  Loop::Time last_point_{};
  Loop::Time point_at_ = Loop::Time::max();
  Loop::Time write_at_ = Loop::Time::max();
  Loop::Time print_at_ = Loop::Time::max();  // progress as JSON
  base::WarningsOnce warnings_of_files_;     // used in the background
};

}  // namespace autodist::chief
