// The state of nodes and ranks as reported by agents: the largest part of a snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread only. A sample only replaces the previous one.
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

}  // namespace autodist::chief
