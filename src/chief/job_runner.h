// Takes a job from its first attempt until nothing of it is left: does what belongs to each stage,
// and finds out when it has ended. Where it goes on then is decided in policy/job_policy.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "chief/attempt_run.h"
#include "chief/fleet/departures.h"
#include "chief/job_parts.h"
#include "chief/loop/loop.h"
#include "chief/policy/job_policy.h"
#include "chief/policy/restart_policy.h"
#include "chief/start/attempt_starter.h"
#include "chief/start/taken_ports.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class JobRunner {
 public:
  // What is given must outlive it.
  JobRunner(JobParts& parts, AttemptRun& run);

  void Begin();
  // Goes on as far as it can now; whether the job is over. To be called after each task of the
  // loop.
  bool Advance();
  JobStage stage() const { return stage_; }

  // Why there was no first attempt; nullopt: there was.
  const std::optional<NotStarted>& refused() const { return refused_; }
  // Whether the agents have been told to go.
  bool leaving() const { return stage_ >= JobStage::kLeaving; }
  AttemptStarter& starter() { return starter_; }

 private:
  void Enter(JobStage stage);
  std::optional<StageEvent> NextEvent();
  StageEvent Started();
  StageEvent AfterRanks();
  StageEvent RestartOrEnd();
  StageEvent EndJob();
  FetchWishes Wishes() const;
  bool HasEnded(bool over);
  bool AllNodes(bool leave);
  void End(bool leave);
  void Fetch();
  void AwaitAgents();
  void TellOfStayingAgents();

  JobParts& parts_;
  AttemptRun& run_;
  AttemptStarter starter_;
  RestartPolicy restarts_;
  PortRaces port_races_;
  JobStage stage_ = JobStage::kOver;
  uint32_t next_ = 0;                     // the number of the attempt that is started next
  Loop::Time until_ = Loop::Time::max();  // of the stage
  std::chrono::milliseconds pause_{0};
  Departures departures_;
  std::optional<NotStarted> refused_;
};

}  // namespace autodist::chief
