// The agent's work for the job on this node, without sockets, lease and watchdog.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/link/attempt_end.h"
#include "agent/link/event_queue.h"
#include "agent/link/rendezvous_service.h"
#include "agent/link/service.h"
#include "agent/mpi/pmix_service.h"
#include "agent/output/progress_files.h"
#include "agent/output/rank_output.h"
#include "agent/prepare/prepare.h"
#include "agent/sample/sampler.h"
#include "agent/supervisor/supervisor.h"

namespace autodist::agent {

class AgentCore {
 public:
  // Calls `over` after the last attempt has ended and everything has been reported.
  static Result<std::unique_ptr<AgentCore>> Create(AgentPlace place, std::string pmix_folder,
                                                   ChiefEvents chief, std::function<void()> over);
  // No server may use the services any more. Kills the remaining processes.
  ~AgentCore();

  EventQueue& events() { return *events_; }
  RankOutput& output() { return *output_; }
  AttemptEnd& end() { return *end_; }
  PmixService& pmix() { return *pmix_; }
  Supervisor& supervisor() { return *supervisor_; }
  RendezvousService& rendezvous() { return *rendezvous_; }  // for the ranks
  AgentService& service() { return *service_; }             // for the chief

 private:
  AgentCore() = default;

  std::unique_ptr<RankOutput> output_;
  std::unique_ptr<RankInput> input_;
  std::unique_ptr<ProgressFiles> progress_;
  std::unique_ptr<EventQueue> events_;
  std::unique_ptr<AttemptEnd> end_;
  std::unique_ptr<RendezvousService> rendezvous_;
  std::unique_ptr<PmixService> pmix_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<AgentService> service_;
};

}  // namespace autodist::agent
