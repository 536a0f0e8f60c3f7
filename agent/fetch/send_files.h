// Sends the chief files of a folder on this node: the agent's side of AgentService.FetchFiles.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// One call with a blocking interface, for a thread of ours that writes.
class FetchCall final : public grpc::ServerWriteReactor<v1::FetchFilesResponse> {
 public:
  explicit FetchCall(grpc::CallbackServerContext& context) : context_(context) {}

  // Blocks until gRPC has accepted the message; fails if the call has ended, or if the chief
  // accepts nothing for a minute.
  Status Write(v1::FetchFilesResponse message);
  // Thread-safe.
  bool Cancelled();

  // Call once, at the end; the call may be destroyed when it returns.
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
  bool ended_ = false;  // whether the call has ended
};

// Blocks until everything is sent, or the chief has ended the call. Reports local failures to the
// chief. `since_start`: since the first ranks that this agent has started.
void SendFiles(FetchCall& call, const v1::FetchFilesRequest& request,
               std::optional<std::chrono::nanoseconds> since_start);

}  // namespace autodist::agent
