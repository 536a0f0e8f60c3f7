// One call of AgentService.FetchFiles: gRPC's asynchronous stream with functions that block.
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

// For one thread. No more than one message is here at a time: the node waits until it is taken.
class FetchStream final : public grpc::ClientReadReactor<v1::FetchFilesResponse> {
 public:
  // `stop` breaks the call off, and so does a `silence` of the node.
  FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
              const std::stop_token& stop, std::chrono::milliseconds silence);
  // Breaks the call off, if it has not ended.
  ~FetchStream() override;

  // Blocks until there is a message. nullopt where none will come; End tells why.
  std::optional<v1::FetchFilesResponse> Read();
  // After that: whether the node could do what it was asked to.
  Status End();

 private:
  bool Next();
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const v1::FetchFilesRequest request_;
  const std::stop_token stop_;
  const std::chrono::milliseconds silence_;
  FetchRules rules_;
  bool over_ = false;  // nothing will come any more
  grpc::ClientContext context_;
  v1::FetchFilesResponse incoming_;  // gRPC's while reading_

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool reading_ = false;
  bool read_ok_ = false;
  CallOutcome outcome_;  // of which gRPC says the end, and one thread all else

  const std::stop_callback<std::function<void()>> cancel_;  // last: may be called at once
};

}  // namespace autodist::transfer
