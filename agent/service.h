// The agent's gRPC services: translate, call the supervisor, translate back.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "autodist/v1/agent.grpc.pb.h"
#include "ports.h"
#include "prepare.h"
#include "supervisor.h"

namespace autodist::agent {

// The sending side of an open session with the chief.
class SessionWriter : public grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent> {
 public:
  // Ends the stream; only the first call counts.
  void End(const grpc::Status& status) {
    if (!ended_.exchange(true)) Finish(status);
  }

 private:
  std::atomic<bool> ended_ = false;
};

// What the agent has to tell the chief, in order, kept while no session is open. Thread-safe.
class EventQueue {
 public:
  void Push(v1::AgentEvent event);
  // After this and all events, the session ends with OK.
  void Close();
  // Blocks until a closed queue's session, if there is one, has ended.
  void WaitUntilDelivered(base::Deadline deadline);

  // False if another session is open.
  bool Attach(SessionWriter* writer);
  void Detach(SessionWriter* writer);
  void WriteDone(SessionWriter* writer, bool ok);

 private:
  void WriteNext();  // mutex_ held

  std::mutex mutex_;
  std::deque<v1::AgentEvent> events_;
  std::condition_variable detached_;
  SessionWriter* writer_ = nullptr;
  bool writing_ = false;
  bool closed_ = false;
};

// Rendezvous calls of the ranks on this node, passed on to the chief. Thread-safe.
class RendezvousService final : public v1::RendezvousService::CallbackService {
 public:
  explicit RendezvousService(EventQueue& events) : events_(events) {}

  void Reply(const v1::RendezvousReply& reply);

  grpc::ServerUnaryReactor* Set(grpc::CallbackServerContext*, const v1::SetRequest*,
                                v1::SetResponse*) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext*, const v1::GetRequest*,
                                v1::GetResponse*) override;
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext*, const v1::BarrierRequest*,
                                    v1::BarrierResponse*) override;

 private:
  class Call;
  using FillResponse = std::function<void(const v1::RendezvousReply&)>;
  grpc::ServerUnaryReactor* Forward(v1::RendezvousRequest request, FillResponse fill);
  void Cancel(uint64_t id);

  EventQueue& events_;
  std::mutex mutex_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Call*> waiting_;
};

class AgentService final : public v1::AgentService::CallbackService {
 public:
  // `heard_chief` is called for each message of the chief, `preparing` with true and false at the
  // beginning and end of Sync and of Prepare.
  AgentService(EventQueue& events, RendezvousService& rendezvous, Supervisor& supervisor,
               std::string socket_path, std::function<void()> heard_chief,
               std::function<void(bool)> preparing);

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
  void Handle(const v1::ChiefMessage& message);

  EventQueue& events_;
  RendezvousService& rendezvous_;
  Supervisor& supervisor_;
  const std::string socket_path_;
  const std::function<void()> heard_chief_;
  const std::function<void(bool)> preparing_changed_;

  std::mutex mutex_;
  // Guarded by mutex_.
  bool prepare_called_ = false;
  bool sync_called_ = false;
  bool trying_ports_ = false;
  std::vector<RankCommand> ranks_;
  std::unique_ptr<PortListener> port_listener_;
  // Last: they use the rest.
  std::jthread preparing_;
  std::jthread port_tries_;
  std::jthread syncing_;
};

// Supervisor events as messages.
SupervisorEvents EventsInto(EventQueue& events);

}  // namespace autodist::agent
