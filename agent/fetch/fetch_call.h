// One call of AgentService.FetchFiles, made blocking: a thread of ours writes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

class FetchCall final : public grpc::ServerWriteReactor<v1::FetchFilesResponse> {
 public:
  explicit FetchCall(grpc::CallbackServerContext& context) : context_(context) {}

  // Blocks until the message is on its way; fails where nobody takes it. A chief that takes nothing
  // for a minute does not want the rest.
  Status Write(v1::FetchFilesResponse message);
  // Thread-safe.
  bool Cancelled();

  // Once, when all is done; the call may be gone as it returns.
  void End();

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { delete this; }

  grpc::CallbackServerContext& context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  v1::FetchFilesResponse outgoing_;
  bool writing_ = false;
  bool ended_ = false;  // nobody takes what we write
};

}  // namespace autodist::agent
