// One call of AgentService.FetchFiles: gRPC's asynchronous stream with a blocking interface.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "transfer/call_outcome.h"
#include "transfer/transfer_rules.h"

namespace autodist::transfer {

// For one thread. Holds at most one message: the node waits until it is read.
class FetchStream final : public grpc::ClientReadReactor<v1::FetchFilesResponse> {
 public:
  // `stop` cancels the call, and so does a `silence` of the node.
  FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
              const std::stop_token& stop, std::chrono::milliseconds silence);
  // Cancels the call if it has not ended.
  ~FetchStream() override;

  // Blocks until there is a message. nullopt at the end; End returns the reason.
  std::optional<v1::FetchFilesResponse> Read();
  // Returns, after the last message, whether the node has succeeded.
  Status End();

 private:
  bool Next();
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const v1::FetchFilesRequest request_;
  const std::stop_token stop_;
  const std::chrono::milliseconds silence_;
  FetchRules rules_;
  bool over_ = false;  // no more messages follow
  grpc::ClientContext context_;
  v1::FetchFilesResponse incoming_;  // used by gRPC while reading_

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool reading_ = false;
  bool read_ok_ = false;
  CallOutcome outcome_;  // gRPC sets the end, one thread everything else

  const std::stop_callback<std::function<void()>> cancel_;  // last: may be called at once
};

}  // namespace autodist::transfer
