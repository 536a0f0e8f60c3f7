// A client of the control socket that uses the terminal of a rank.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "autodist/v1/job.pb.h"
#include "control/answer_later.h"
#include "control/job_requests.h"

namespace autodist::control {

// Thread-safe. Reads one message at a time, the next when the previous was taken, so a client that
// types faster has to wait.
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
