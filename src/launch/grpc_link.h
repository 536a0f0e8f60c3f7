// A connection with an agent: gRPC over a byte stream to its node.
#pragma once

#include <memory>

#include "autodist/v1/agent.grpc.pb.h"
#include "base/fd.h"
#include "launch/node_link.h"
#include "rpc/channel.h"
#include "transport/transport.h"

namespace autodist::launch {

class GrpcLink final : public NodeLink {
 public:
  // `line`: a duplicate of the channel's socket, to shut it down.
  GrpcLink(std::unique_ptr<transport::Stream> stream, std::shared_ptr<grpc::Channel> channel,
           base::UniqueFd line = {});
  ~GrpcLink() override;

  Status Sync(transfer::FolderSync& sync, uint32_t node_rank, const std::stop_token& stop) override;
  Result<v1::PrepareResponse> Prepare(const v1::PrepareRequest& request, base::Deadline deadline,
                                      const std::stop_token& stop) override;
  void PrepareLater(v1::PrepareRequest request, base::Deadline deadline,
                    const std::stop_token& stop, Prepared done) override;
  Result<v1::OpenPortsResponse> OpenPorts(const v1::OpenPortsRequest& request,
                                          base::Deadline deadline,
                                          const std::stop_token& stop) override;
  Result<v1::TryPortsResponse> TryPorts(const v1::TryPortsRequest& request, base::Deadline deadline,
                                        const std::stop_token& stop) override;
  transfer::FetchedFiles Fetch(const transfer::FetchOrder& order, transfer::FetchedFolder& folder,
                               const std::stop_token& stop) override;
  void OpenSession(SessionListener& listener) override;
  void Send(v1::ChiefMessage message) override;
  void Break() override;
  void Detach() override;
  void EndSession() override;
  void EndAtExit() override;
  bool WaitClosed(base::Deadline deadline) override { return stream_->WaitClosed(deadline); }

 private:
  class Session;
  struct Preparing;
  template <typename Request, typename Response>
  using Method = grpc::Status (v1::AgentService::Stub::*)(grpc::ClientContext*, const Request&,
                                                          Response*);
  template <typename Request, typename Response>
  Result<Response> Call(Method<Request, Response> method, const Request& request,
                        base::Deadline deadline, const std::stop_token& stop);
  // Returns the response, or an error if the call has failed or the response breaks a rule.
  template <typename Request, typename Response>
  Result<Response> Checked(const grpc::Status& status, const Request& request, Response response);

  void HangUp() const;
  void Abandon();

  const std::unique_ptr<transport::Stream> stream_;
  const base::UniqueFd line_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<Preparing> preparing_;
  std::unique_ptr<Session> session_;
};

}  // namespace autodist::launch
