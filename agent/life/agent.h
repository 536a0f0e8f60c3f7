// The agent process of a job on a node: its sockets, its lease and its watchdog, around AgentCore.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "agent/life/agent_core.h"
#include "agent/life/heartbeat.h"
#include "agent/life/job_folder.h"
#include "agent/life/lifetime.h"
#include "agent/link/admission.h"
#include "base/fd.h"

namespace autodist::agent {

struct AgentOptions {
  JobFolder folder;
  base::UniqueFd folder_lock;  // held until others can detect the watchdog
  AgentSockets sockets;
  // Closed when the process that started the agent ends. If no chief has opened a session by then,
  // none will.
  base::UniqueFd starter;
  base::UniqueFd watchdog;  // closed when the watchdog ends
  // The agent ends the job after this time without messages from the chief.
  std::chrono::milliseconds lease;
  std::chrono::milliseconds grace;          // between the stop signal and SIGKILL then
  std::optional<Heartbeat> heartbeat = {};  // for the watchdog
  // Started by a scheduler through a callback client (agent/life/connect_back.h).
  bool held = false;
};

// The exit status of an agent.
enum AgentResult : int {
  kEndedByChief = 0,
  kFailed = 1,
  kLeaseExpired = 3,
  kCleaned = 4,  // by SIGTERM, without a connected chief
};

// The time beyond the grace period after which an agent counts as hung, for example on a disk or a
// file system.
inline constexpr std::chrono::seconds kHangLimit{15};

class Agent {
 public:
  explicit Agent(AgentOptions options)
      : options_(std::move(options)),
        life_(options_.lease, [this](base::Deadline expires) { OnLease(expires); }) {}

  // The main function of the agent's process: serves the sockets until the job has ended on this
  // node. Returns the exit status.
  static int Main(AgentOptions options);

 private:
  Status Build();
  Result<AgentResult> Run();
  void AwaitDelivery();
  void EndJob();  // after the lease or the watchdog has ended
  void RemoveFolder();
  void OnEvictionNotice(bool ranks_were_signalled);
  void OnLease(base::Deadline expires);
  void Beat();
  void LeaveWithin(std::chrono::milliseconds time);
  std::vector<Admission::Watched> Watched();

  AgentOptions options_;
  Lifetime life_;
  base::UniqueFd lock_;
  base::UniqueFd terms_;  // signalfd: SIGTERM
  std::atomic<bool> cleaned_ = false;
  std::atomic<bool> watchdog_gone_ = false;
  std::unique_ptr<Admission> admission_;
  // Last, in order of destruction: callers before callees, including the members above.
  std::unique_ptr<AgentCore> core_;
  std::unique_ptr<grpc::Server> chief_server_;
  std::unique_ptr<grpc::Server> rank_server_;
};

}  // namespace autodist::agent
