#include "control/job_calls.h"

#include <algorithm>
#include <utility>

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

template <typename Response, typename Ask>
grpc::ServerUnaryReactor* SnapshotCalls::AskFor(Response* response, bool answers, const Ask& ask) {
  const auto call = AnswerLater<Response>::Create(response, [] {});
  const std::lock_guard lock(mutex_);
  if (ended_ || !answers) {
    call->Refuse(JobHasEnded());
  } else {
    ask(call);
  }
  return call.get();
}

grpc::ServerUnaryReactor* SnapshotCalls::GetHistory(grpc::CallbackServerContext*,
                                                    const v1::GetHistoryRequest* request,
                                                    v1::History* response) {
  return AskFor(response, handlers_.history != nullptr, [&](const auto& call) {
    handlers_.history(*request, [call](v1::History history) { call->Answer(std::move(history)); });
  });
}

grpc::ServerUnaryReactor* SnapshotCalls::GetDiagnosis(grpc::CallbackServerContext*,
                                                      const v1::GetDiagnosisRequest*,
                                                      v1::JobDiagnosis* response) {
  return AskFor(response, handlers_.diagnosis != nullptr, [&](const auto& call) {
    handlers_.diagnosis(
        [call](Result<v1::JobDiagnosis> diagnosis) { call->Answer(std::move(diagnosis)); });
  });
}

grpc::ServerUnaryReactor* SnapshotCalls::GetAwaitedNodes(grpc::CallbackServerContext*,
                                                         const v1::GetAwaitedNodesRequest*,
                                                         v1::AwaitedNodes* response) {
  return AskFor(response, handlers_.awaited_nodes != nullptr, [&](const auto& call) {
    handlers_.awaited_nodes([call](v1::AwaitedNodes nodes) { call->Answer(std::move(nodes)); });
  });
}

std::shared_ptr<TerminalCall> TerminalCall::Create(const JobRequests::Terminal& requests,
                                                   std::function<void()> done) {
  std::shared_ptr<TerminalCall> call(new TerminalCall(requests, std::move(done)));
  call->self_ = call;
  return call;
}

std::string TerminalCall::who() const {
  return "`autodist attach`, process " + std::to_string(first().pid()) + ",";
}

v1::TerminalInput TerminalCall::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

void TerminalCall::OnReadDone(bool ok) {
  if (!ok) return OnCancel();  // the client has left, or closed its side
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    first = !std::exchange(began_, true);
    if (first) first_ = input_;
    ahead_ = first ? 0 : input_.data().size();
    waiting_ = ahead_ > 0;
  }
  const bool goes_on = first || input_.data().empty();
  if (first) {
    requests_.use(shared_from_this());
  } else {
    requests_.type(shared_from_this(), input_);
  }
  if (goes_on) StartRead(&input_);
}

void TerminalCall::OnAttached() {
  const std::lock_guard lock(mutex_);
  if (!ended_ && !std::exchange(reported_, true)) StartWrite(&taken_);
}

void TerminalCall::OnTaken(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ahead_ -= std::min(ahead_, bytes);
  if (ended_ || ahead_ > 0 || !std::exchange(waiting_, false)) return;
  StartRead(&input_);
}

void TerminalCall::OnEnd(const Status& why) {
  const std::string remedy = Remedy(why);
  Refuse({static_cast<grpc::StatusCode>(why.code()),
          why.ok() ? "" : Message(why) + (remedy.empty() ? "" : "; " + remedy)});
}

void TerminalCall::Refuse(const grpc::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
  }
  Finish(why);
}

void TerminalCall::OnDone() {
  const auto self = std::exchange(self_, nullptr);
  bool began = false;
  {
    const std::lock_guard lock(mutex_);
    began = began_;
  }
  if (began) requests_.leave(self);
  done_();
}

}  // namespace autodist::control
