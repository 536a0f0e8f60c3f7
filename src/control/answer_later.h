// A call of gRPC's that is answered later, on any thread, unless its client or the end comes first.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "autodist/status.h"

namespace autodist::control {

// What the end of the job does with a call that waits.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // Ends it where it has not been answered.
  virtual void Refuse(const grpc::Status& why) = 0;
};

template <typename Response>
class AnswerLater final : public grpc::ServerUnaryReactor, public OpenCall {
 public:
  // `done` is called when gRPC has nothing more to do with it.
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
  // The first one; the response is there until it has finished.
  bool TakeTurn() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(ended_, true);
  }

  Response* const response_;
  const std::function<void()> done_;
  std::shared_ptr<AnswerLater> self_;  // as long as gRPC has it
  std::mutex mutex_;
  bool ended_ = false;  // guarded by mutex_
};

}  // namespace autodist::control
