// The gRPC service for the chief: converts messages and calls the parts of the agent.
#pragma once

#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "agent/input/rank_input.h"
#include "agent/link/attempt_end.h"
#include "agent/link/attempt_gate.h"
#include "agent/link/background_task.h"
#include "agent/link/event_queue.h"
#include "agent/link/open_calls.h"
#include "agent/link/rendezvous_service.h"
#include "agent/mpi/pmix_service.h"
#include "agent/output/progress_files.h"
#include "agent/output/rank_output.h"
#include "agent/prepare/ports.h"
#include "agent/prepare/prepare.h"
#include "agent/sample/sampler.h"
#include "agent/stacks/tcp_sockets.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/deadline.h"
#include "base/worker.h"

namespace autodist::agent {

// Events about the chief. Thread-safe.
struct ChiefEvents {
  std::function<void()> on_contact;  // for each message
  // It has received the answer that was given at this time.
  std::function<void(base::Deadline::Clock::time_point given)> received;
  std::function<void(bool expected)> silence_expected;  // while we work for it
  // It is stopped by Ctrl-Z for at most this time: silent until it continues, which is 0.
  std::function<void(std::chrono::milliseconds hold)> suspended;
  std::function<void(bool open)> session_changed;
  std::function<void(std::string key)> new_key;  // for its next connection
};

// The parts of the agent that the service calls.
struct ServiceParts {
  EventQueue& events;
  RankOutput& output;
  RankInput& input;
  ProgressFiles& progress;
  AttemptEnd& end;
  RendezvousService& rendezvous;
  Supervisor& supervisor;
  Sampler& sampler;
  PmixService& pmix;
  AgentPlace place;
  ChiefEvents chief;
};

class AgentService final : public v1::AgentService::CallbackService {
 public:
  explicit AgentService(ServiceParts parts);
  ~AgentService() override;

  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext*, const v1::PrepareRequest*,
                                    v1::PrepareResponse*) override;
  grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* Session(
      grpc::CallbackServerContext*) override;
  grpc::ServerBidiReactor<v1::SyncRequest, v1::SyncResponse>* Sync(
      grpc::CallbackServerContext*) override;
  grpc::ServerWriteReactor<v1::FetchFilesResponse>* FetchFiles(
      grpc::CallbackServerContext*, const v1::FetchFilesRequest*) override;
  grpc::ServerUnaryReactor* OpenPorts(grpc::CallbackServerContext*, const v1::OpenPortsRequest*,
                                      v1::OpenPortsResponse*) override;
  grpc::ServerUnaryReactor* TryPorts(grpc::CallbackServerContext*, const v1::TryPortsRequest*,
                                     v1::TryPortsResponse*) override;

  // Ends everything on the node, for good. Does not block.
  void Shutdown(std::chrono::milliseconds grace);

  // Returns whether ranks may start elsewhere in place of ours after the lease.
  bool replaceable() const { return replaceable_; }

 private:
  class SessionReactor;
  class PrepareCall;
  void Cancel(const PrepareCall* call);
  void AnswerWaiting();    // mutex_ held: another order has cancelled it
  void RunPreparations();  // blocks until none waits
  // Fills in the response of the call. Blocks.
  PreparedNode Answer(PrepareCall& call, const std::stop_token& stop);
  // Makes the node ready for the ranks of the request.
  void Adopt(const v1::PrepareRequest& request, PreparedNode& prepared);
  void Handle(SessionWriter* session, const v1::ChiefMessage& message);
  void ChiefReceived(uint64_t answer);
  void Start(const v1::StartRanks& order);
  std::optional<std::chrono::nanoseconds> SinceStart();  // of the first ranks
  void Stop(const v1::StopRanks& order);
  void EndRanks(const v1::EndRanks& order);
  void End(AttemptGate::Do what);  // mutex_ held
  void RemoveMarks();              // mutex_ held
  void CollectStacks(const v1::CollectStacks& wanted);
  void Signal(const v1::SignalRanks& order);

  const ServiceParts parts_;
  const DeviceClaim claim_;
  PrepareState prepare_state_;  // used by the thread that prepares

  std::atomic<bool> replaceable_ = false;
  std::mutex session_mutex_;  // held while sessions change, to keep their order
  std::mutex mutex_;
  // Guarded by mutex_.
  AttemptGate gate_;
  PrepareCall* working_call_ = nullptr;  // answered by the thread that prepares
  PrepareCall* waiting_call_ = nullptr;  // for the end of that work
  std::stop_source stop_preparing_;      // of that work
  std::chrono::milliseconds grace_{0};   // of the latest order to end
  bool sync_called_ = false;
  std::optional<std::chrono::nanoseconds> started_;  // the first ranks, since the boot
  PreparedNode prepared_;
  std::unique_ptr<PortListener> port_listener_;
  ConnectionWatch connections_;  // used by the thread that collects stacks
  // Last: they use the members above. Started with mutex_ held.
  std::jthread preparing_;
  BackgroundTask removing_marks_;
  BackgroundTask collecting_stacks_;
  BackgroundTask trying_ports_;
  BackgroundTask syncing_;
  base::Worker fetching_;
  OpenCalls open_calls_;
};

}  // namespace autodist::agent
