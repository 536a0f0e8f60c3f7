// The calls of a job's clients that are not answered at once.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.grpc.pb.h"
#include "base/worker.h"
#include "control/job_requests.h"

namespace autodist::control {

// An unanswered call, which the end of the job refuses.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // Finishes the call with this status unless it was answered.
  virtual void Refuse(const grpc::Status& why) = 0;
};

// A call that is answered later, on any thread, unless the client cancels it or the job ends first.
template <typename Response>
class AnswerLater final : public grpc::ServerUnaryReactor, public OpenCall {
 public:
  // `done` is called when gRPC no longer uses the call.
  static std::shared_ptr<AnswerLater> Create(Response* response, std::function<void()> done) {
    std::shared_ptr<AnswerLater> call(new AnswerLater(response, std::move(done)));
    call->self_ = call;
    return call;
  }

  void Answer(Result<Response> answer) {
    if (!answer.ok()) {
      return Refuse(
          {static_cast<grpc::StatusCode>(answer.status().code()), Message(answer.status())});
    }
    if (!TakeTurn()) return;
    *response_ = *std::move(answer);
    Finish(grpc::Status::OK);
  }
  void Refuse(const grpc::Status& why) override {
    if (TakeTurn()) Finish(why);
  }

 private:
  AnswerLater(Response* response, std::function<void()> done)
      : response_(response), done_(std::move(done)) {}

  void OnCancel() override { Refuse(grpc::Status::CANCELLED); }
  void OnDone() override {
    const auto self = std::exchange(self_, nullptr);
    done_();
  }
  // True for the first caller; the response exists until gRPC has finished.
  bool TakeTurn() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(ended_, true);
  }

  Response* const response_;
  const std::function<void()> done_;
  std::shared_ptr<AnswerLater> self_;  // while gRPC uses it
  std::mutex mutex_;
  bool ended_ = false;  // guarded by mutex_
};

// Answers clients that view a running job. Serializes each snapshot once, on its own thread.
// Thread-safe; does not block.
class SnapshotWriter {
 public:
  void Write(std::shared_ptr<const v1::JobSnapshot> snapshot,
             std::function<void(const grpc::ByteBuffer& bytes)> written);

 private:
  std::weak_ptr<const v1::JobSnapshot> last_;  // used by the thread only, as the next
  grpc::ByteBuffer bytes_;                     // last_, serialized
  base::Worker thread_;                        // last: uses the rest
};

// Thread-safe.
class SnapshotCalls final : public v1::SnapshotService::WithRawCallbackMethod_GetSnapshot<
                                v1::SnapshotService::WithCallbackMethod_GetHistory<
                                    v1::SnapshotService::WithCallbackMethod_GetDiagnosis<
                                        v1::SnapshotService::WithCallbackMethod_GetAwaitedNodes<
                                            v1::SnapshotService::Service>>>> {
 public:
  explicit SnapshotCalls(JobRequests::SnapshotHandlers handlers) : handlers_(std::move(handlers)) {}

  // Makes no requests after this returns.
  void End();

  grpc::ServerUnaryReactor* GetSnapshot(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext*,
                                       const v1::GetHistoryRequest* request,
                                       v1::History* response) override;
  grpc::ServerUnaryReactor* GetDiagnosis(grpc::CallbackServerContext*,
                                         const v1::GetDiagnosisRequest*,
                                         v1::JobDiagnosis* response) override;
  grpc::ServerUnaryReactor* GetAwaitedNodes(grpc::CallbackServerContext*,
                                            const v1::GetAwaitedNodesRequest*,
                                            v1::AwaitedNodes* response) override;

 private:
  // Makes a request by `ask` for a new call. `answers`: there is a handler for it.
  template <typename Response, typename Ask>
  grpc::ServerUnaryReactor* AskFor(Response* response, bool answers, const Ask& ask);

  const JobRequests::SnapshotHandlers handlers_;
  const std::shared_ptr<SnapshotWriter> writer_ = std::make_shared<SnapshotWriter>();
  std::mutex mutex_;  // held while a request is made
  bool ended_ = false;
};

// A client of the control socket that uses the terminal of a rank. Thread-safe. Reads one message
// at a time, the next when the previous was taken, so a client that types faster has to wait.
class TerminalCall final : public grpc::ServerBidiReactor<v1::TerminalInput, v1::TerminalTaken>,
                           public TerminalUser,
                           public OpenCall,
                           public std::enable_shared_from_this<TerminalCall> {
 public:
  // `done` is called when gRPC no longer uses the call.
  static std::shared_ptr<TerminalCall> Create(const JobRequests::Terminal& requests,
                                              std::function<void()> done);
  void Begin() { StartRead(&input_); }

  void Refuse(const grpc::Status& why) override;

  std::string who() const override;
  v1::TerminalInput first() const override;
  void OnAttached() override;
  void OnTaken(uint64_t bytes) override;
  void OnEnd(const Status& why) override;

 private:
  TerminalCall(const JobRequests::Terminal& requests, std::function<void()> done)
      : requests_(requests), done_(std::move(done)) {}

  void OnReadDone(bool ok) override;
  void OnCancel() override { Refuse(grpc::Status::CANCELLED); }
  void OnDone() override;

  const JobRequests::Terminal requests_;
  const std::function<void()> done_;
  std::shared_ptr<TerminalCall> self_;  // while gRPC uses it
  v1::TerminalInput input_;             // being read
  const v1::TerminalTaken taken_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  v1::TerminalInput first_;
  bool began_ = false;
  bool reported_ = false;  // that the terminal is the client's
  bool ended_ = false;
  bool waiting_ = false;  // until the last message is taken
  uint64_t ahead_ = 0;    // bytes of it that are not taken yet
};

}  // namespace autodist::control
