#include "control/snapshot_calls.h"

#include <utility>

#include "control/answer_later.h"

namespace autodist::control {
namespace {

grpc::Status JobHasEnded() { return {grpc::StatusCode::FAILED_PRECONDITION, "the job has ended"}; }

}  // namespace

void SnapshotWriter::Write(std::shared_ptr<const v1::JobSnapshot> snapshot,
                           std::function<void(const grpc::ByteBuffer& bytes)> written) {
  thread_.Post([this, snapshot = std::move(snapshot), written = std::move(written)] {
    if (snapshot != last_.lock()) {
      bool own_buffer = false;
      bytes_.Clear();
      (void)grpc::SerializationTraits<v1::JobSnapshot>::Serialize(*snapshot, &bytes_, &own_buffer);
      last_ = snapshot;
    }
    written(bytes_);
  });
}

void SnapshotCalls::End() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

// If the job ends before it has answered, the end of the server cancels the call.
grpc::ServerUnaryReactor* SnapshotCalls::GetSnapshot(grpc::CallbackServerContext*,
                                                     const grpc::ByteBuffer* request,
                                                     grpc::ByteBuffer* response) {
  const auto call = AnswerLater<grpc::ByteBuffer>::Create(response, [] {});
  grpc::ByteBuffer bytes = *request;
  v1::GetSnapshotRequest asked;
  const grpc::Status parsed =
      grpc::SerializationTraits<v1::GetSnapshotRequest>::Deserialize(&bytes, &asked);
  const std::lock_guard lock(mutex_);
  if (!parsed.ok()) {
    call->Refuse(parsed);
  } else if (ended_ || !handlers_.snapshot) {
    call->Refuse(JobHasEnded());
  } else {
    handlers_.snapshot(
        asked, [writer = writer_, call](std::shared_ptr<const v1::JobSnapshot> snapshot) {
          writer->Write(std::move(snapshot),
                        [call](const grpc::ByteBuffer& written) { call->Answer(written); });
        });
  }
  return call.get();
}

grpc::ServerUnaryReactor* SnapshotCalls::GetHistory(grpc::CallbackServerContext*,
                                                    const v1::GetHistoryRequest* request,
                                                    v1::History* response) {
  const auto call = AnswerLater<v1::History>::Create(response, [] {});
  const std::lock_guard lock(mutex_);
  if (ended_ || !handlers_.history) {
    call->Refuse(JobHasEnded());
  } else {
    handlers_.history(*request, [call](v1::History history) { call->Answer(std::move(history)); });
  }
  return call.get();
}

}  // namespace autodist::control
