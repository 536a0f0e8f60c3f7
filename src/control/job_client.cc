#include "control/job_client.h"

#include <chrono>

#include "control/job_socket.h"
#include "rpc/channel.h"

namespace autodist::control {
namespace {

// An autodist that was stopped, by Ctrl-Z say, does not answer.
constexpr std::chrono::seconds kAnswerLimit{5};

void Limit(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kAnswerLimit);
}

}  // namespace

Result<JobClient> JobClient::Connect(const std::string& job_id) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket, ConnectTo(job_id));
  AD_ASSIGN_OR_RETURN(const auto channel, rpc::ChannelOver(std::move(socket)));
  return JobClient(v1::JobService::NewStub(channel));
}

Result<v1::JobStatus> JobClient::GetStatus() const {
  grpc::ClientContext context;
  Limit(context);
  v1::JobStatus status;
  AD_RETURN_IF_ERROR(rpc::FromGrpc(stub_->GetStatus(&context, {}, &status)));
  return status;
}

Result<v1::JobStatus> JobClient::WaitForEnd(const std::stop_token& stop) const {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::JobStatus status;
  AD_RETURN_IF_ERROR(rpc::FromGrpc(stub_->WaitForEnd(&context, {}, &status)));
  return status;
}

Status JobClient::Signal(int signal) const {
  grpc::ClientContext context;
  Limit(context);
  v1::SignalRequest request;
  request.set_signal(signal);
  v1::SignalResponse response;
  return rpc::FromGrpc(stub_->Signal(&context, request, &response));
}

}  // namespace autodist::control
