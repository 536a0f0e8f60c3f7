// A gRPC call that is answered later, on any thread, unless the client cancels it or the job ends
// first.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "autodist/status.h"

namespace autodist::control {

// An unanswered call, which the end of the job refuses.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // Finishes the call with this status unless it was answered.
  virtual void Refuse(const grpc::Status& why) = 0;
};

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

}  // namespace autodist::control
