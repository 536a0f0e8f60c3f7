// One call of AgentService.FetchFiles: gRPC's asynchronous stream with a blocking interface.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "transfer/cancellable_call.h"
#include "transfer/transfer_rules.h"

namespace autodist::transfer {

// For one thread. Holds at most one message: the node waits until it is read.
class FetchStream final : public grpc::ClientReadReactor<v1::FetchFilesResponse>, CancellableCall {
 public:
  // See CancellableCall.
  FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
              const std::stop_token& stop, std::chrono::milliseconds silence,
              std::function<void()> hang_up);
  // Cancels the call if it has not ended.
  ~FetchStream() override;

  // Blocks until there is a message. nullopt at the end; End returns the reason.
  std::optional<v1::FetchFilesResponse> Read();
  // Returns, after the last message, whether the node has succeeded.
  Status End() { return AwaitEnd(); }

 private:
  bool Next(std::unique_lock<std::mutex>& lock);
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override { SetEnd(status); }

  const v1::FetchFilesRequest request_;
  FetchRules rules_;
  bool over_ = false;                // no more messages follow
  v1::FetchFilesResponse incoming_;  // used by gRPC while reading_

  // Guarded by mutex_.
  bool reading_ = false;
  bool read_ok_ = false;
};

}  // namespace autodist::transfer
