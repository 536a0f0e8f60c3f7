// One job, from launch to the end of its last process.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/restart_policy.h"
#include "chief/checks/preflight.h"
#include "chief/hang/stack_file.h"
#include "chief/mailbox.h"
#include "chief/nodes/node_watch.h"
#include "chief/output/event_log.h"
#include "chief/output/messages.h"
#include "chief/output/report.h"
#include "chief/signal_watcher.h"
#include "launch/launcher.h"

namespace autodist::chief {

enum class OnHang { kStop, kWarn };

struct JobOptions {
  launch::LaunchOptions launch;
  std::string log_folder;  // of this job
  bool preflight = true;   // look at the nodes before anything is started
  bool detached = false;   // of which the status tells
  Prefixes prefixes = Prefixes::kAll;
  RestartLimits restarts;
  std::chrono::milliseconds timeout{0};       // for the whole job; 0: none
  std::chrono::milliseconds hang_timeout{0};  // without a sign of life of any rank; 0: none
  OnHang on_hang = OnHang::kStop;
  uint16_t fixed_port = 0;  // that every plan has, whoever else has it; 0: none
  // The plan of another attempt, on these nodes of the first plan, with other ports. Without, there
  // is one attempt.
  std::function<Result<v1::LaunchPlan>(const std::vector<std::string>& addresses, uint32_t attempt)>
      plan_attempt;
  // Called on Run's thread.
  std::function<void(const v1::JobStatus& status)> on_status;
  std::function<void()> on_running;  // once, when all is ready and the ranks start
};

class Job {
 public:
  // Only one Job at a time in a process; make it before any other thread, for its signals.
  Job(const v1::LaunchPlan& plan, JobOptions options);
  ~Job();

  // Runs the plan; returns the exit code of `autodist run`. Blocks until nothing of the job is
  // left on any node that answers. Messages go to the log, the ranks' output to the terminal.
  int Run();

  // As if this process had received it. Thread-safe.
  void Signal(int signal);

  // As it was told last.
  const v1::JobStatus& status() const { return published_; }

 private:
  using Action = JobState::Action;

  // How long agents may take to end what is left once its grace period is over.
  static constexpr std::chrono::milliseconds kEndLimit{10'000};

  // Signals that come sooner after the one that kills mean the same; later ones, that autodist
  // is to wait no longer.
  static constexpr std::chrono::milliseconds kImpatience{2'000};

  // Plans that are made because of ports that somebody else has.
  static constexpr uint32_t kMostMoves = 5;

  // To end all ranks, and with `leave` the agent, too.
  static v1::ChiefMessage GraceOrder(std::chrono::milliseconds grace, bool leave);

  std::optional<int> LaunchAll();  // the exit code, if that is where it ends
  std::optional<int> Refused();
  std::optional<int> MovePorts();
  bool CanMovePorts() const;
  Status PortsAreTaken() const;
  bool LostARaceForAPort();
  bool PassesPreflight();
  void Launched(launch::LaunchedNode node);
  Status OpenOutput(Attempt& attempt);
  void BeginAttempt();
  void RunAttempt();
  bool AttemptIsOver() const;
  bool EndIsOverdue();

  std::optional<std::chrono::milliseconds> RestartWait();
  bool Restart(std::chrono::milliseconds wait);  // false: that is the end
  bool Unwanted() const { return interrupted_by_ != 0 || timed_out_ || given_up_; }
  std::unique_ptr<Attempt> MakeAttempt(uint32_t number, v1::LaunchPlan plan,
                                       std::vector<uint32_t> members);
  // With a plan of its own.
  Result<std::unique_ptr<Attempt>> PlanAttempt(uint32_t number,
                                               const std::vector<uint32_t>& members);
  std::unique_ptr<Attempt> NextAttempt();  // null: there can be none
  bool AllConnected(const std::vector<uint32_t>& nodes) const;
  std::vector<uint32_t> GatherNodes();
  std::vector<uint32_t> MissingNodes(bool enough) const;
  void BringBack(const std::vector<uint32_t>& nodes, base::Deadline limit);
  void EndOnReturned();
  // Sets ports_taken_. Fails where a node is cut off, or nothing is wanted any more.
  Result<std::vector<launch::LaunchedNode>> PrepareNodes(const Attempt& next);

  void End(bool leave);
  int Finish();

  void HandleEvent(uint32_t node, const v1::AgentEvent& event);
  void HandleOutput(uint32_t node, v1::Output output);
  void HandleSignal(int signal);
  void HandleLost(uint32_t node, const Status& why);
  void HandleRendezvous(uint32_t node, const v1::RendezvousRequest& request);
  void AskForModex(uint32_t node_rank, const v1::ModexQuestion& question);
  void RankAborted(uint32_t node, v1::RankAborted aborted);
  void RankExited(uint32_t node, v1::RankExited exit);
  void StopLaunching();
  void SayFirstCause(Action action);
  void SayStopping(int signal, Action action);
  void Act(Action action);
  void Suspend();
  void LookAtRanks();
  void AddStacks(uint32_t node, const v1::RankStacks& stacks);
  void CheckForHang();
  void FinishLooking();

  // Runs one task, or returns at the deadline; keeps in touch with the nodes meanwhile.
  void Step(base::Deadline deadline = base::Deadline::Never());
  base::Deadline CheckTimes();

  void EnterPhase(v1::JobPhase phase, const std::string& why);
  void Record(v1::JobEvent event);
  void Publish();

  const v1::LaunchPlan& plan_;
  JobOptions options_;
  std::unique_ptr<EventLog> log_;
  Mailbox<std::function<void()>> mailbox_;
  std::atomic<int64_t> finishing_since_ = 0;  // by the monotonic clock; 0: not yet
  std::atomic<int> exit_code_ = 0;            // once it is finishing
  std::optional<SignalWatcher> signals_;
  Messages messages_;
  std::optional<Preflight> preflight_;
  RestartPolicy restarts_;
  std::vector<TakenPort> ports_taken_;  // where the nodes were prepared last
  v1::JobStatus status_;                // without the nodes
  v1::JobStatus published_;             // as it was told last

  std::unique_ptr<launch::Launcher> launcher_;
  std::vector<launch::LaunchedNode> launched_;  // of the launch, by node rank
  uint32_t turned_out_ = 0;                     // how many of them there are
  int interrupted_by_ = 0;

  std::mutex output_mutex_;           // held where the nodes' threads use attempt_->output
  std::unique_ptr<Attempt> attempt_;  // changed on Run's thread, with output_mutex_ held
  std::atomic<int64_t> last_sign_of_life_ns_ = 0;  // of any rank, by the monotonic clock
  std::set<uint32_t> attempt_over_on_;             // nodes on which nothing of it is left
  std::set<uint32_t> cut_off_;  // nodes that were lost in it and could not be reached
  uint32_t races_lost_ = 0;     // for ports, between choosing and opening them
  bool leaving_ = false;
  bool given_up_ = false;
  bool hurried_ = false;  // asked to leave faster, before anything ran
  base::Deadline impatience_ = base::Deadline::After({});  // over: nobody is impatient
  bool suspending_ = false;
  bool overdue_ = false;                                // ranks would not end
  base::Deadline end_limit_ = base::Deadline::Never();  // for what is ending to end
  uint64_t end_written_ = 0;                            // bytes of output when it was set
  base::Deadline timeout_at_ = base::Deadline::Never();
  bool timed_out_ = false;
  bool hang_told_ = false;
  std::optional<StackFile> stacks_;
  base::Deadline stacks_due_ = base::Deadline::Never();
  bool stop_after_stacks_ = false;

  std::optional<NodeWatch> watch_;  // last: its nodes call the rest
};

}  // namespace autodist::chief
