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
  base::UniqueFd folder_lock;  // until others can see that there is a watchdog
  AgentSockets sockets;
  // Ends when the process that started the agent does. If no chief has opened a session by then,
  // none will come.
  base::UniqueFd starter;
  base::UniqueFd watchdog;                  // ends when the watchdog does
  std::chrono::milliseconds lease;          // without a word from the chief, the agent ends the job
  std::chrono::milliseconds grace;          // between the stop signal and SIGKILL when it does
  std::optional<Heartbeat> heartbeat = {};  // for the watchdog
  bool held = false;  // below a callback client, for a scheduler (agent/life/connect_back.h)
};

// How it ended, as its exit status.
enum AgentResult : int {
  kEndedByChief = 0,
  kFailed = 1,
  kLeaseExpired = 3,
  kCleaned = 4,  // by SIGTERM, while no chief was in charge
};

// More than the grace period: then an agent hangs, on a disk or a file system, say.
inline constexpr std::chrono::seconds kHangLimit{15};

class Agent {
 public:
  explicit Agent(AgentOptions options) : options_(std::move(options)), life_(options_.lease) {}

  // In a process of its own: serves the sockets until the job has ended on this node. Returns the
  // exit status.
  static int Main(AgentOptions options);

 private:
  Status Build();
  Result<AgentResult> Run();
  void AwaitDelivery();
  void EndJob();  // because nobody is in charge any more
  void RemoveFolder();
  void OnEvictionNotice(bool ranks_were_signalled);
  void Beat(std::chrono::milliseconds within);
  void LeaveWithin(std::chrono::milliseconds time);
  std::vector<Admission::Watched> Watched();

  AgentOptions options_;
  Lifetime life_;
  base::UniqueFd lock_;
  base::UniqueFd terms_;  // signalfd: SIGTERM
  std::atomic<bool> cleaned_ = false;
  std::atomic<bool> watchdog_gone_ = false;
  std::unique_ptr<Admission> admission_;
  // Last, from the inside out: what may still call goes before what it calls, also that above.
  std::unique_ptr<AgentCore> core_;
  std::unique_ptr<grpc::Server> chief_server_;
  std::unique_ptr<grpc::Server> rank_server_;
};

}  // namespace autodist::agent
