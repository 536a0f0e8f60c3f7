#include "control/job_client.h"

#include <chrono>

#include "base/typed_command.h"
#include "control/job_record.h"
#include "control/job_socket.h"
#include "control/silent_chief.h"
#include "rpc/channel.h"

namespace autodist::control {
namespace {

// A suspended autodist does not answer.
constexpr std::chrono::seconds kAnswerLimit{5};
// Longer than nodes need, and a slow disk for the files.
constexpr std::chrono::seconds kStacksLimit{60};
constexpr std::chrono::seconds kDiagnosisLimit{120};

using JobStub = v1::JobService::Stub;
using SnapshotStub = v1::SnapshotService::Stub;

template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

// `limit`: absent: unlimited.
template <typename Stub, typename Request, typename Response>
Result<Response> Ask(const std::string& job_id, Stub& stub, Method<Stub, Request, Response> method,
                     const Request& request, std::optional<std::chrono::seconds> limit,
                     const std::stop_token& stop = {}) {
  grpc::ClientContext context;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  if (limit) context.set_deadline(std::chrono::system_clock::now() + *limit);
  Response response;
  const grpc::Status answered = (stub.*method)(&context, request, &response);
  if (answered.ok()) return response;
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "waiting was cancelled");
  switch (answered.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return NoAnswer(RecordOrId(job_id));
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNAVAILABLE:
      // The connection broke, or the server ended, which cancels all calls.
      return WithRemedy(Error(StatusCode::kUnavailable, "its chief exited before it answered"),
                        base::TypedCommand("status " + job_id) + " shows the job");
    default:
      return rpc::FromGrpc(answered);
  }
}

}  // namespace

Result<JobClient> JobClient::Connect(const std::string& job_id) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket, ConnectTo(job_id));
  AD_ASSIGN_OR_RETURN(const auto channel, rpc::ChannelOver(std::move(socket)));
  return JobClient(job_id, v1::JobService::NewStub(channel), v1::SnapshotService::NewStub(channel));
}

Result<v1::JobStatus> JobClient::GetStatus() const {
  return Ask(job_id_, *stub_, &JobStub::GetStatus, v1::GetStatusRequest(), kAnswerLimit);
}

Result<v1::JobStatus> JobClient::WaitForEnd(const std::stop_token& stop) const {
  return Ask(job_id_, *stub_, &JobStub::WaitForEnd, v1::WaitForEndRequest(), std::nullopt, stop);
}

Result<v1::JobStacks> JobClient::GetStacks(const std::vector<uint32_t>& whole, bool flight_records,
                                           const std::stop_token& stop) const {
  v1::GetStacksRequest request;
  *request.mutable_ranks() = {whole.begin(), whole.end()};
  request.set_flight_records(flight_records);
  return Ask(job_id_, *stub_, &JobStub::GetStacks, request, kStacksLimit, stop);
}

Result<v1::JobFiles> JobClient::Fetch(const v1::FetchRequest& request) const {
  return Ask(job_id_, *stub_, &JobStub::Fetch, request, std::nullopt);
}

Result<std::optional<v1::JobSnapshot>> JobClient::GetSnapshot(uint64_t known,
                                                              const std::stop_token& stop) const {
  v1::GetSnapshotRequest request;
  request.set_known(known);
  AD_ASSIGN_OR_RETURN(v1::JobSnapshot snapshot, Ask(job_id_, *snapshot_, &SnapshotStub::GetSnapshot,
                                                    request, kAnswerLimit, stop));
  if (known != 0 && snapshot.version() == known) return std::nullopt;
  return snapshot;
}

Result<v1::History> JobClient::GetHistory(int64_t since_ms, const std::stop_token& stop) const {
  v1::GetHistoryRequest request;
  request.set_since_ms(since_ms);
  return Ask(job_id_, *snapshot_, &SnapshotStub::GetHistory, request, kAnswerLimit, stop);
}

Result<v1::JobDiagnosis> JobClient::GetDiagnosis(const std::stop_token& stop) const {
  return Ask(job_id_, *snapshot_, &SnapshotStub::GetDiagnosis, v1::GetDiagnosisRequest(),
             kDiagnosisLimit, stop);
}

Result<v1::AwaitedNodes> JobClient::GetAwaitedNodes(const std::stop_token& stop) const {
  return Ask(job_id_, *snapshot_, &SnapshotStub::GetAwaitedNodes, v1::GetAwaitedNodesRequest(),
             kAnswerLimit, stop);
}

Status JobClient::Signal(int signal, const std::string& by) const {
  v1::SignalRequest request;
  request.set_signal(signal);
  request.set_by(by);
  return Ask(job_id_, *stub_, &JobStub::Signal, request, kAnswerLimit).status();
}

}  // namespace autodist::control
