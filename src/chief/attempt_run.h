// Runs the ranks of the current attempt from start to end: handles the events of their nodes,
// timeouts and hangs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chief/attempt/attempt.h"
#include "chief/fleet/all_hold.h"
#include "chief/fleet/fleet.h"
#include "chief/job_parts.h"
#include "chief/loop/loop.h"
#include "chief/output/repeat_limit.h"
#include "chief/suspension.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class AttemptRun final : public FleetListener {
 public:
  // The arguments must outlive this object; they may be constructed after it.
  AttemptRun(JobParts& parts, Suspension& suspension) : parts_(parts), suspension_(suspension) {}

  // Takes the planned first attempt. Called before anything else.
  void Plan(std::unique_ptr<Attempt> first) { attempt_ = std::move(first); }
  const Attempt& attempt() const { return *attempt_; }
  JobState& state() { return attempt_->state(); }

  // Starts the ranks; all members are ready.
  void Begin(std::unique_ptr<Attempt> attempt, const RankLedger::Clearance& clearance);
  // Asks the remaining ranks to end; the attempt has a cause.
  void Stop();
  // Returns whether no rank runs on any node that is connected.
  bool NoneRunsOnConnected();
  // Whether a rank has failed and the attempt goes on until this is explained; see Explanation.
  bool explains() const { return explanation_ != Explanation::kNone; }
  // Stops the attempt now in this case.
  void StopExplaining();
  // Does the work that is due; returns when to call it again. `may_restart`: another attempt may
  // follow.
  Loop::Time Tick(bool may_restart);
  // No other attempt follows, so --timeout does not matter any more.
  void IsLast() { timeout_at_ = Loop::Time::max(); }
  // The job has ended.
  void Finish();

  void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) override;
  void OnWarning(uint32_t node, const std::string& what) override;
  void OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) override;
  void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why,
              bool drained) override;
  void OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) override;
  void OnSample(uint32_t node, v1::NodeSample&& sample) override;

 private:
  // Of the failure of a rank: by what it wrote, then by the stacks of ranks that it may have waited
  // for.
  enum class Explanation { kNone, kAwaitsOutput, kLooksForMissing };

  void RankFailed();
  void AwaitOutput();
  void StopAfterFailure();
  void ReportLostWithoutRanks();

  JobParts& parts_;
  Suspension& suspension_;
  std::unique_ptr<Attempt> attempt_;
  Explanation explanation_ = Explanation::kNone;
  Loop::Time output_by_{};                         // of kAwaitsOutput
  Loop::Time look_at_output_ = Loop::Time::max();  // the same
  Loop::Time timeout_at_ = Loop::Time::max();
  AllHold none_runs_;                         // no member of the attempt runs a rank
  std::map<uint32_t, uint32_t> warnings_of_;  // number of warnings by node
  RepeatLimit<int> lost_;                     // lost nodes, to limit their messages
  struct {
    std::vector<std::string> addresses;
    std::string why;  // of the first
    Loop::Time report_at = Loop::Time::max();
  } lost_without_ranks_;   // nodes, such as spares
  RepeatLimit<int> left_;  // the same for processes that ranks left
};

}  // namespace autodist::chief
