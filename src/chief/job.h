// One job, from launch to the end of its last process.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/attempt_starter.h"
#include "chief/attempt/job_options.h"
#include "chief/fetch/job_fetch.h"
#include "chief/fleet/fleet.h"
#include "chief/hang/hang_response.h"
#include "chief/input/own_terminal.h"
#include "chief/input/rank_input.h"
#include "chief/loop/loop.h"
#include "chief/loop/signal_watcher.h"
#include "chief/loop/stop_policy.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"
#include "chief/snapshot/job_status_recorder.h"
#include "chief/snapshot/snapshot_builder.h"

namespace autodist::chief {

// Its thread never waits for a terminal or a disk while there are nodes: they have leases.
class Job final : private FleetListener {
 public:
  // Only one Job at a time in a process; no other thread may take its signals, as after
  // SignalWatcher::Block. `plan` must outlive it. `loop`: one with another clock.
  Job(const v1::LaunchPlan& plan, JobOptions options, std::unique_ptr<Loop> loop = nullptr);
  ~Job();

  // Runs the plan; returns the exit code of `autodist run`. Blocks until nothing of the job is
  // left on any node that answers. Messages go to the log, the ranks' output to the terminal.
  int Run();

  // As if this process had received it; `by`: what sent it, if it is known. Thread-safe.
  void Signal(int signal, const std::string& by = "");

  // How it stands. Thread-safe.
  void GetStatus(StatusAnswer answer);

  // How one sees it, and how it was. Thread-safe.
  void GetBoard(uint64_t known, control::JobRequests::SnapshotAnswer answer);
  void GetHistory(int64_t since_ms, std::function<void(v1::History)> answer);

  // What every rank is doing now. Thread-safe.
  void GetStacks(const v1::GetStacksRequest& request, StacksAnswer answer);

  // Brings files from the nodes until `stop`. Thread-safe.
  void Fetch(const v1::FetchRequest& request, const std::stop_token& stop, FetchAnswer answer);

  // Others at the terminal of the rank that has one. Thread-safe.
  void UseTerminal(std::shared_ptr<control::TerminalUser> user);
  void Type(std::shared_ptr<control::TerminalUser> user, v1::TerminalInput input);
  void LeaveTerminal(std::shared_ptr<control::TerminalUser> user);

  // As it was told last.
  const v1::JobStatus& status() const { return recorder_.published(); }

  // After Run: "ended", "failed", "stopped" or "not started".
  const std::string& verdict() const { return verdict_; }
  // After Run: whether this process can only end by _exit, as its terminal takes nothing.
  bool blocked() const { return finishing_.blocked; }

 private:
  void BeginAttempt(std::unique_ptr<Attempt> attempt);
  void RunAttempt();
  void AwaitAttempt();
  bool AttemptIsOver();
  bool Restart();  // false: that is the end
  void FetchAtEnd();
  void End(bool leave);
  bool AwaitEnd(bool leave, const std::function<bool()>& over);
  int Finish(int exit_code, const std::string& refusal, Loop::Time began);  // "": it was started

  void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) override;
  void OnWarning(uint32_t node, const std::string& what) override;
  void OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) override;
  void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why,
              bool drained) override;
  void OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) override;
  void OnSample(uint32_t node, v1::NodeSample&& sample) override;

  std::shared_ptr<OwnTerminal> MakeOwnTerminal();
  void TakeSignal(int signal, const std::string& by, Loop::Time at);
  void Suspend();
  void Interrupt(int signal, const std::string& by, Loop::Time at);
  void StopAttempt();
  void RankFailed();
  Loop::Time Deadlines();

  const v1::LaunchPlan& plan_;
  const JobOptions options_;
  std::unique_ptr<Loop> loop_;
  struct Finishing {
    std::atomic<Loop::Time> since = Loop::Time{};  // the beginning of time: not yet
    std::atomic<int> exit_code = 0;
    bool blocked = false;  // by the terminal
  } finishing_;
  StopPolicy stop_;
  std::optional<SignalWatcher> signals_;
  Console console_;
  OutputRouter output_;
  Fleet nodes_;
  AttemptStarter starter_;
  std::unique_ptr<Attempt> attempt_;
  JobStatusRecorder recorder_;
  SnapshotBuilder snapshot_;
  HangResponse hang_;
  bool looks_for_missing_ = false;                   // the attempt is stopped after that
  const std::shared_ptr<OwnTerminal> own_terminal_;  // null: there is none
  RankInput input_;
  JobFetch fetch_;
  AllHold none_runs_;  // of the attempt's members
  bool fetching_at_end_ = false;
  bool leaving_ = false;  // the agents have been told to go
  Loop::Time timeout_at_ = Loop::Time::max();
  std::map<uint32_t, uint32_t> warnings_of_;  // how many, by node
  Alike<int> lost_;                           // what is said of nodes that are
  bool suspending_ = false;  // all nodes are to receive SIGTSTP, then this process stops
  std::string verdict_ = "not started";
};

}  // namespace autodist::chief
