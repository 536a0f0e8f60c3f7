// The agent's gRPC services: translate, call the supervisor, translate back.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/link/event_queue.h"
#include "agent/link/rendezvous_service.h"
#include "agent/mpi/pmix_service.h"
#include "agent/output/rank_output.h"
#include "agent/prepare/ports.h"
#include "agent/prepare/prepare.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.grpc.pb.h"

namespace autodist::agent {

// What the service needs of the agent around it. All callbacks are thread-safe.
struct AgentParts {
  EventQueue& events;
  RankOutput& output;
  RendezvousService& rendezvous;
  Supervisor& supervisor;
  PmixService& pmix;
  AgentPlace place;
  std::function<void()> heard_chief;          // for each message
  std::function<void(bool held)> hold_lease;  // while the chief has nothing to say
  std::function<void(bool paused)> paused;    // the chief is silent until it goes on
  std::function<void(bool open)> session_changed;
  std::function<void(std::string key)> new_key;  // of the chief, for its next connection
  std::function<void(bool leave)> ending;        // before the processes are ended
};

class AgentService final : public v1::AgentService::CallbackService {
 public:
  explicit AgentService(AgentParts parts);

  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext*, const v1::PrepareRequest*,
                                    v1::PrepareResponse*) override;
  grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* Session(
      grpc::CallbackServerContext*) override;
  grpc::ServerBidiReactor<v1::SyncRequest, v1::SyncResponse>* Sync(
      grpc::CallbackServerContext*) override;
  grpc::ServerUnaryReactor* OpenPorts(grpc::CallbackServerContext*, const v1::OpenPortsRequest*,
                                      v1::OpenPortsResponse*) override;
  grpc::ServerUnaryReactor* TryPorts(grpc::CallbackServerContext*, const v1::TryPortsRequest*,
                                     v1::TryPortsResponse*) override;

 private:
  class SessionReactor;
  class TryPortsReactor;
  void Handle(SessionWriter* session, const v1::ChiefMessage& message);
  void LookAtRanks();

  const AgentParts parts_;

  std::mutex session_mutex_;  // held while sessions come and go, so that they are told in order
  std::atomic<bool> looking_now_ = false;
  std::mutex mutex_;
  // Guarded by mutex_.
  bool preparing_now_ = false;
  bool sync_called_ = false;
  bool trying_ports_ = false;
  std::vector<RankCommand> ranks_;
  int stop_signal_ = 0;
  process::Environment environment_;  // of the ranks
  std::unique_ptr<PortListener> port_listener_;
  // Last: they use the rest.
  std::jthread preparing_;
  std::jthread looking_;
  std::jthread port_tries_;
  std::jthread syncing_;
};

// Supervisor events as messages; `ended` is the caller's to set.
SupervisorEvents EventsInto(EventQueue& events, RankOutput& output);

}  // namespace autodist::agent
