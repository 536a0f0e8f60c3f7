// One job, from launch to the end of its last process.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "chief/job_state.h"
#include "chief/launch.h"
#include "chief/mailbox.h"
#include "chief/output.h"
#include "chief/preflight.h"
#include "chief/rendezvous.h"
#include "chief/signal_watcher.h"

namespace autodist::chief {

struct JobOptions {
  LaunchOptions launch;
  std::string log_folder;  // of this job
  bool preflight = true;   // look at the nodes before anything is started
};

class Job {
 public:
  // Only one Job at a time in a process; make it before any other thread, for its signals.
  Job(const v1::LaunchPlan& plan, JobOptions options);
  ~Job();

  // Runs the plan; returns the exit code of `autodist run`. Blocks until nothing of the job is
  // left on any node that answers. Messages go to the log, the ranks' output to the terminal.
  int Run();

 private:
  struct AgentSaid {
    uint32_t node_rank;
    v1::AgentEvent event;
  };
  struct LinkClosed {
    uint32_t node_rank;
    Status status;
  };
  struct SignalReceived {
    int signal;
  };
  using Event = std::variant<LaunchedNode, AgentSaid, LinkClosed, SignalReceived>;

  std::optional<int> LaunchAll();  // the exit code, if that is where it ends
  bool PassesPreflight();
  void AddNode(LaunchedNode node);
  bool Belongs(uint32_t node_rank, const v1::AgentEvent& event) const;
  void TakeEvent(uint32_t node_rank, v1::AgentEvent event);
  void RunRanks();
  void Handle(Event event);
  void HandleAgent(uint32_t node_rank, const v1::AgentEvent& event);
  void Act(JobState::Action action);
  void ShutDown();
  int Finish();

  // The next event; renews the agents' leases while it waits. nullopt at the deadline.
  std::optional<Event> Next(base::Deadline deadline = base::Deadline::Never());
  void SendToAll(const v1::ChiefMessage& message);

  const v1::LaunchPlan& plan_;
  JobOptions options_;
  JobState state_;
  Rendezvous rendezvous_;
  Mailbox<Event> mailbox_;
  base::Deadline renew_at_;
  std::optional<SignalWatcher> signals_;
  std::unique_ptr<OutputWriter> output_;  // once all nodes are ready
  std::optional<Preflight> preflight_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<LaunchedNode> nodes_;  // those that have turned out, by node rank
  std::vector<bool> open_;           // whose session has not ended
  bool given_up_ = false;
};

}  // namespace autodist::chief
