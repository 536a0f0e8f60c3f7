// Takes a job from its first attempt to its end: does the work of each stage and detects when a
// stage has ended. policy/job_policy.h decides which stage follows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chief/attempt_run.h"
#include "chief/fleet/departures.h"
#include "chief/job_parts.h"
#include "chief/loop/loop.h"
#include "chief/policy/job_policy.h"
#include "chief/policy/restart_policy.h"
#include "chief/start/attempt_starter.h"
#include "chief/start/taken_ports.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class JobRunner {
 public:
  // The arguments must outlive this object.
  JobRunner(JobParts& parts, AttemptRun& run);

  void Begin();
  // Ends the job from any stage: asks all agents to end the ranks and to leave.
  void Leave() { Enter(JobStage::kLeaving); }
  // Continues as far as possible now; returns whether the job is over. Called after each task of
  // the loop.
  bool Advance();
  JobStage stage() const { return stage_; }

  // Returns why the first attempt was not started; nullopt: it was started.
  const std::optional<NotStarted>& refused() const { return refused_; }
  // Returns whether another attempt was not made because it could hardly succeed.
  bool futile() const { return futile_; }
  // Returns whether another attempt is being made or may follow, as far as is known.
  bool MayRestart() const;
  // Returns whether the agents have been asked to leave.
  bool leaving() const { return stage_ >= JobStage::kLeaving; }
  AttemptStarter& starter() { return starter_; }

 private:
  void Enter(JobStage stage);
  std::optional<StageEvent> NextEvent();
  StageEvent Started();
  bool RanksAreOver();
  void GiveUpOverdueNodes();
  StageEvent AfterRanks();
  StageEvent RestartOrEnd();
  std::string RestartText() const;
  std::string BecauseOf(const std::string& cause) const;
  void ReportFaultyNode();
  RestartDecision Decide(const std::string& cause);
  void ReportFutility(Futility why, bool restarts);
  StageEvent EndJob();
  FetchWishes Wishes() const;
  bool HasEnded(bool over);
  void ReportWait();
  bool NamesWhatIsLeft(uint32_t node) const;
  std::string RunningRanks() const;
  std::string WaitText() const;
  bool AllNodes(bool leave);
  void End(bool leave);
  void Fetch();
  void AwaitAgents();
  void WarnOfStayingAgents();

  JobParts& parts_;
  AttemptRun& run_;
  AttemptStarter starter_;
  RestartPolicy restarts_;
  PortRaces port_races_;
  JobStage stage_ = JobStage::kOver;
  uint32_t next_ = 0;                         // number of the next attempt
  Loop::Time until_ = Loop::Time::max();      // end of the stage
  Loop::Time report_at_ = Loop::Time::max();  // a longer wait is reported then
  std::chrono::milliseconds pause_{0};
  struct PastCause {
    std::string attempt;  // its number, from 1 on
    std::string text;
  };
  std::vector<PastCause> causes_;  // of the attempts that restarts_ knows
  bool futile_ = false;
  Departures departures_;
  std::optional<NotStarted> refused_;
};

}  // namespace autodist::chief
