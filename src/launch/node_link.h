// The chief's connection with the agent on one node.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "launch/folder_sync.h"
#include "rpc/channel.h"
#include "transport/transport.h"

namespace autodist::launch {

// Thread-safe.
class NodeLink {
 public:
  struct Handlers {
    // On gRPC's threads, one call at a time; must not block.
    std::function<void(v1::AgentEvent event)> event;
    // Last call. OK: the agent says that nothing of the job is left on its node.
    std::function<void(Status status)> closed;
  };

  NodeLink(std::unique_ptr<transport::Stream> stream, std::shared_ptr<grpc::Channel> channel);
  // Breaks the session off, if it is still open, and waits for `closed` to have returned.
  ~NodeLink();

  // Once, before Prepare. Blocks until the node has the folder; `stop` ends it early.
  Status Sync(FolderSync& sync, const std::stop_token& stop);

  // Blocks until the agent has answered; `stop` ends it early.
  Result<v1::PrepareResponse> Prepare(const v1::PrepareRequest& request, base::Deadline deadline,
                                      const std::stop_token& stop);
  Result<v1::OpenPortsResponse> OpenPorts(const v1::OpenPortsRequest& request,
                                          base::Deadline deadline, const std::stop_token& stop);
  Result<v1::TryPortsResponse> TryPorts(const v1::TryPortsRequest& request, base::Deadline deadline,
                                        const std::stop_token& stop);

  // Once.
  void OpenSession(Handlers handlers);
  // Queues the message; dropped when the session has ended.
  void Send(v1::ChiefMessage message);
  // Ends the session from here; `closed` follows.
  void Break();
  // The same, and waits for `closed` to have returned.
  void EndSession();

  // Blocks until the connection's far end has closed, that is, the agent has gone.
  bool WaitClosed(base::Deadline deadline) { return stream_->WaitClosed(deadline); }

 private:
  class Session;
  template <typename Request, typename Response>
  using Method = grpc::Status (v1::AgentService::Stub::*)(grpc::ClientContext*, const Request&,
                                                          Response*);
  template <typename Request, typename Response>
  Result<Response> Call(Method<Request, Response> method, const Request& request,
                        base::Deadline deadline, const std::stop_token& stop);

  std::unique_ptr<transport::Stream> stream_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<Session> session_;
};

}  // namespace autodist::launch
