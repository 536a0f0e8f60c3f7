// Takes an attempt from a plan to ranks that may start: for the first launch, a plan with other
// ports, and a restart. policy/start_policy.h decides which stage follows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/backoff.h"
#include "chief/attempt/attempt.h"
#include "chief/checks/reported_addresses.h"
#include "chief/loop/loop.h"
#include "chief/policy/start_policy.h"
#include "chief/start/first_launch.h"
#include "chief/start/node_gathering.h"
#include "chief/start/node_results.h"
#include "chief/start/returning_nodes.h"
#include "chief/start/roster.h"
#include "chief/start/starting_job.h"
#include "chief/start/waiting_message.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Why no attempt could be made.
inline constexpr char kInterrupted[] = "interrupted before a rank was started";
struct NotStarted {
  int exit_code;       // of `autodist run`, for the first attempt
  std::string report;  // cause and remedy
};

// Used on the loop's thread only; never blocks.
class AttemptStarter {
 public:
  explicit AttemptStarter(const StartingJob& job);

  // Makes an attempt ready: its members are prepared and connected, its ports are free and its log
  // files are open.
  void Begin(uint32_t number);
  // Continues as far as possible now; returns whether the start has ended. Called after each task
  // of the loop.
  bool Advance();
  // After the end: null if there is an attempt, which can be taken once; else the reason.
  const NotStarted* refused() const {
    return making_.stage == StartStage::kRefused ? &making_.refused : nullptr;
  }
  std::unique_ptr<Attempt> TakeAttempt() { return std::move(making_.attempt); }

  // Returns the planned first attempt, without any preparation.
  std::unique_ptr<Attempt> FirstAttempt();

  // Called while the ranks of an attempt run, after each task of the loop: takes back nodes that
  // were lost.
  void TakeNodesBack() { returning_.Advance(*launcher_); }
  // Called when they have ended.
  void LeaveNodes() { returning_.Pause(*launcher_); }

  // The nodes as candidates for another attempt.
  const Roster& roster() const { return roster_; }
  // Returns whether an attempt that begins then has to wait, as far as is known now.
  bool WouldWait(Loop::Time begin) const { return gathering_.WouldWait(begin); }
  // Makes further attempts without the node, and says so. `why` follows its name.
  void LeaveOut(uint32_t node, const std::string& why);

  // Cancels the launch.
  void Cancel();
  // Cancels, and waits until the launcher has ended.
  void Stop();

 private:
  // The attempt that is being made.
  struct Making {
    StartStage stage = StartStage::kRefused;
    uint32_t number = 0;
    uint32_t plans = 0;    // number of plans for it
    uint32_t moves = 0;    // number of plans because of ports in use
    uint32_t repeats = 0;  // number of plans because of failed calls
    std::unique_ptr<Attempt> attempt;
    NodeResults results{0};
    Loop::Time until = Loop::Time::max();  // of the stage
    std::optional<StartEvent> at_once;     // set if the stage ended immediately
    NotStarted refused{};
  };
  // A task that may wait for a disk.
  struct DiskTask {
    bool done = false;
    Result<std::shared_ptr<RankLogs>> logs = nullptr;
  };

  std::unique_ptr<Attempt> MakeAttempt(uint32_t number, SharedPlan plan,
                                       const std::vector<uint32_t>& nodes);
  void Enter(StartStage stage);
  std::optional<StartEvent> NextEvent();
  Status Plan();
  bool AwaitsDevices() const;
  std::optional<StartEvent> Launch();
  std::optional<StartEvent> Prepare();
  bool MembersStay() const;
  StartEvent JudgeLaunched();
  bool IsUnreachable(const launch::LaunchedNode& node) const;
  std::set<uint32_t> Dispensable(const NodeResults::Nodes& nodes) const;
  void StartWithout(const launch::LaunchedNode& node);
  std::string HowToDoWithout(const NodeResults::Nodes& nodes) const;
  StartEvent JudgePrepared();
  StartEvent JudgeNodes(const NodeResults::Nodes& nodes, bool launched);
  bool LeaveOutRefusing(const NodeResults::Nodes& nodes);
  StartEvent Refuse(const Status& why);
  StartEvent RefuseStart(const Status& why);
  void WarnOfCheckpoints(const NodeResults::Nodes& nodes);
  void AwaitDevices();
  void OpenLogs();
  void OnDisk(std::function<Result<std::shared_ptr<RankLogs>>()> task);

  const StartingJob job_;
  WaitingMessage waits_;
  ReturningNodes returning_;
  Roster roster_;
  NodeGathering gathering_;
  FirstLaunch first_launch_;
  std::unique_ptr<launch::Launcher> launcher_;  // null: nothing was launched
  DataAddresses reported_addresses_;
  std::string checkpoints_;  // the last text about different ones
  Making making_;
  std::shared_ptr<DiskTask> disk_task_;
  struct {
    std::string who;                       // the users of the devices
    std::optional<base::Backoff> backoff;  // while waiting for the devices
  } devices_;
};

}  // namespace autodist::chief
