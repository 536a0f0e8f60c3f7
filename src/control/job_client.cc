#include "control/job_client.h"

#include <chrono>

#include "control/job_socket.h"
#include "rpc/channel.h"

namespace autodist::control {
namespace {

// An autodist that was stopped, by Ctrl-Z say, does not answer.
constexpr std::chrono::seconds kAnswerLimit{5};
// More than nodes have to tell, and a slow disk to be written to.
constexpr std::chrono::seconds kStacksLimit{60};

void Limit(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kAnswerLimit);
}

// gRPC's server cancels what it has not answered when it ends; nobody else cancels on that side.
Status FromServer(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::CANCELLED) {
    return Error(StatusCode::kUnavailable, "autodist ends");
  }
  return rpc::FromGrpc(status);
}

}  // namespace

Result<JobClient> JobClient::Connect(const std::string& job_id) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket, ConnectTo(job_id));
  AD_ASSIGN_OR_RETURN(const auto channel, rpc::ChannelOver(std::move(socket)));
  return JobClient(v1::JobService::NewStub(channel), v1::BoardService::NewStub(channel));
}

Result<v1::JobStatus> JobClient::GetStatus() const {
  grpc::ClientContext context;
  Limit(context);
  v1::JobStatus status;
  AD_RETURN_IF_ERROR(FromServer(stub_->GetStatus(&context, {}, &status)));
  return status;
}

Result<v1::JobStatus> JobClient::WaitForEnd(const std::stop_token& stop) const {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  v1::JobStatus status;
  const grpc::Status ended = stub_->WaitForEnd(&context, {}, &status);
  if (!ended.ok() && stop.stop_requested()) {
    return Error(StatusCode::kCancelled, "waiting was cancelled");
  }
  AD_RETURN_IF_ERROR(FromServer(ended));
  return status;
}

Result<v1::JobStacks> JobClient::GetStacks(const std::vector<uint32_t>& whole, bool flight_records,
                                           const std::stop_token& stop) const {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  context.set_deadline(std::chrono::system_clock::now() + kStacksLimit);
  v1::GetStacksRequest request;
  *request.mutable_ranks() = {whole.begin(), whole.end()};
  request.set_flight_records(flight_records);
  v1::JobStacks stacks;
  const grpc::Status answered = stub_->GetStacks(&context, request, &stacks);
  if (!answered.ok() && stop.stop_requested()) {
    return Error(StatusCode::kCancelled, "waiting was cancelled");
  }
  AD_RETURN_IF_ERROR(FromServer(answered));
  return stacks;
}

Result<v1::JobFiles> JobClient::Fetch(const v1::FetchRequest& request) const {
  grpc::ClientContext context;
  v1::JobFiles files;
  AD_RETURN_IF_ERROR(FromServer(stub_->Fetch(&context, request, &files)));
  return files;
}

Result<std::optional<v1::JobSnapshot>> JobClient::GetBoard(uint64_t known,
                                                           const std::stop_token& stop) const {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  Limit(context);
  v1::GetBoardRequest request;
  request.set_known(known);
  v1::JobSnapshot snapshot;
  AD_RETURN_IF_ERROR(FromServer(snapshot_->GetBoard(&context, request, &snapshot)));
  if (known != 0 && snapshot.version() == known) return std::nullopt;
  return snapshot;
}

Result<v1::History> JobClient::GetHistory(int64_t since_ms, const std::stop_token& stop) const {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  Limit(context);
  v1::GetHistoryRequest request;
  request.set_since_ms(since_ms);
  v1::History history;
  AD_RETURN_IF_ERROR(FromServer(snapshot_->GetHistory(&context, request, &history)));
  return history;
}

Status JobClient::Signal(int signal) const {
  grpc::ClientContext context;
  Limit(context);
  v1::SignalRequest request;
  request.set_signal(signal);
  v1::SignalResponse response;
  return FromServer(stub_->Signal(&context, request, &response));
}

}  // namespace autodist::control
