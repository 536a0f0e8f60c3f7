// The ranks of the present attempt, from their start to their end: what is done about what nodes
// tell of them, and about what is due.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "chief/attempt/attempt.h"
#include "chief/fleet/all_hold.h"
#include "chief/fleet/fleet.h"
#include "chief/job_parts.h"
#include "chief/loop/loop.h"
#include "chief/output/alike.h"
#include "chief/suspension.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class AttemptRun final : public FleetListener {
 public:
  // What is given must outlive it, and may be made later.
  AttemptRun(JobParts& parts, Suspension& suspension) : parts_(parts), suspension_(suspension) {}

  // The first attempt as it is planned; before anything else.
  void Plan(std::unique_ptr<Attempt> first) { attempt_ = std::move(first); }
  const Attempt& attempt() const { return *attempt_; }
  JobState& state() { return attempt_->state(); }

  // All members are ready: the ranks start.
  void Begin(std::unique_ptr<Attempt> attempt);
  // There is a cause: the ranks that are left are told to end.
  void Stop();
  // No rank runs any more on any node that answers, or may answer again and is needed.
  bool IsOver();
  // A signal has come: what was looked for counts no more.
  void StopLooking();
  // Does what is due; returns when to be called again.
  Loop::Time Tick();
  // The job is over: what was found of who is missing is kept.
  void Finish();

  void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) override;
  void OnWarning(uint32_t node, const std::string& what) override;
  void OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) override;
  void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why,
              bool drained) override;
  void OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) override;
  void OnSample(uint32_t node, v1::NodeSample&& sample) override;

 private:
  void RankFailed();

  JobParts& parts_;
  Suspension& suspension_;
  std::unique_ptr<Attempt> attempt_;
  bool looks_for_missing_ = false;  // the attempt is stopped after that
  Loop::Time timeout_at_ = Loop::Time::max();
  AllHold none_runs_;                         // of the attempt's members
  std::map<uint32_t, uint32_t> warnings_of_;  // how many, by node
  Alike<int> lost_;                           // what is said of nodes that are
};

}  // namespace autodist::chief
