// One attempt at running the job's ranks: the first, or a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/log_folder.h"
#include "chief/attempt/gpu_errors.h"
#include "chief/attempt/job_state.h"
#include "chief/attempt/rank_calls.h"
#include "chief/loop/loop.h"
#include "chief/output/rank_logs.h"

namespace autodist::chief {

// Shared, because it is large with thousands of ranks.
using SharedPlan = std::shared_ptr<const v1::LaunchPlan>;

// Written by one thread and read by another.
class HangDiagnosis {
 public:
  // Set follows.
  void Begin() {
    const std::lock_guard lock(mutex_);
    being_made_ = true;
  }
  bool being_made() const {
    const std::lock_guard lock(mutex_);
    return being_made_;
  }
  // "": unknown; an earlier one stays.
  void Set(std::string diagnosis) {
    const std::lock_guard lock(mutex_);
    being_made_ = false;
    if (!diagnosis.empty()) diagnosis_ = std::move(diagnosis);
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    diagnosis_.clear();
  }
  std::string Get() const {
    const std::lock_guard lock(mutex_);
    return diagnosis_;
  }

 private:
  mutable std::mutex mutex_;
  std::string diagnosis_;    // guarded by mutex_
  bool being_made_ = false;  // guarded by mutex_
};

// Handles the events of the members, the nodes of the plan. Not thread-safe; never blocks.
class Attempt {
 public:
  // The effect of one event.
  struct Outcome {
    bool stop = false;          // it is the first cause: the other ranks have to be stopped
    bool sign_of_life = false;  // of a rank
    std::optional<v1::JobEvent> to_record;  // without the node
    bool to_log = false;                    // what is recorded
  };

  // `nodes`: the nodes of the job by their rank in this plan.
  Attempt(uint32_t number, SharedPlan plan, std::vector<uint32_t> nodes,
          const base::LogFolder& job_folder, int stop_signal, std::chrono::milliseconds grace,
          RankCalls::Send send);

  // Handles an event of an agent. Ignores events about ranks of other agents.
  Outcome Take(uint32_t member, const v1::AgentEvent& event);
  // Returns whether the other ranks have to be stopped because of it.
  bool NodeLost(uint32_t member, const Status& why, int64_t last_contact_ns = 0) {
    return state_.NodeLost(member, why, last_contact_ns);
  }
  JobState& state() { return state_; }
  const JobState& state() const { return state_; }

  uint32_t number() const { return number_; }  // 0: the first
  const v1::LaunchPlan& plan() const { return *plan_; }
  const SharedPlan& shared_plan() const { return plan_; }
  const std::vector<uint32_t>& nodes() const { return nodes_; }
  // The folder of rank-N.out and rank-N.err.
  const base::LogFolder& logs_folder() const { return folder_; }
  const std::string& folder() const { return folder_.path(); }
  const std::optional<v1::PmixWorld>& pmix() const { return calls_.pmix(); }
  // What the driver reported of GPUs of the job, in order of arrival.
  const std::vector<NodeGpuError>& gpu_errors() const { return gpu_errors_; }
  // Facts about a member when the first rank there failed.
  v1::FailureFacts failure_facts(uint32_t member) const;
  // What ranks had left on a member when its agent asked that to end.
  v1::ProcessesLeft left(uint32_t member) const;
  // The number of processes: ranks and auxiliary processes.
  uint32_t processes() const { return processes_; }
  // Returns whether the rank, or auxiliary process, runs on the member.
  bool Has(uint32_t member, uint32_t rank) const;
  const v1::NodePlan& member_plan(uint32_t member) const {
    return plan_->nodes(static_cast<int>(member));
  }

  // Output of the ranks; null before the attempt is ready.
  std::shared_ptr<RankLogs> logs;
  // The ranks that block the others in a hang, if known: "rank 3 (host2) is in stuck
  // (train.py:36)".
  std::shared_ptr<HangDiagnosis> hang_diagnosis = std::make_shared<HangDiagnosis>();
  // Variables of the chief's environment that ranks of a node do not receive, by node rank in the
  // job.
  using MissingVariables = std::map<uint32_t, std::vector<std::string>>;
  std::shared_ptr<const MissingVariables> missing_variables;
  std::vector<std::string> warnings;  // repeated in the report at the end
  Loop::Time began{};
  // The rank for which the failed rank waited in vain: "rank 2 (host2) sleeps in load
  // (train.py:7)".
  std::string missing;

 private:
  // Returns whether this is the first such event about the rank.
  bool IsNews(uint32_t rank, v1::AgentEvent::EventCase what) {
    return reported_.emplace(rank, what).second;
  }
  void TakeGpuErrors(uint32_t member, const v1::RankExited& exit);
  Outcome RankExited(uint32_t member, const v1::RankExited& exit);
  Outcome RankAborted(uint32_t member, v1::RankAborted aborted);
  Outcome ProcessesLeft(uint32_t member, const v1::ProcessesLeft& left);

  const uint32_t number_;
  const SharedPlan plan_;
  const std::vector<uint32_t> nodes_;
  const base::LogFolder folder_;
  const uint32_t processes_;
  JobState state_;
  std::vector<NodeGpuError> gpu_errors_;
  std::map<uint32_t, v1::FailureFacts> failure_facts_;  // by member
  std::map<std::pair<uint32_t, v1::LeftStage>, v1::ProcessesLeft> left_;
  std::set<std::pair<uint32_t, v1::AgentEvent::EventCase>> reported_;  // of ranks
  RankCalls calls_;
};

}  // namespace autodist::chief
