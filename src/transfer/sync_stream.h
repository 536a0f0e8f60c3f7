// One call of AgentService.Sync, which copies a folder to a node: gRPC's asynchronous stream with a
// blocking interface.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "transfer/cancellable_call.h"
#include "transfer/transfer_rules.h"

namespace autodist::transfer {

// For one thread; gRPC's threads call the callbacks.
class SyncStream final : public grpc::ClientBidiReactor<v1::SyncRequest, v1::SyncResponse>,
                         CancellableCall {
 public:
  // See CancellableCall. `received` gets the total number of content bytes that the agent has;
  // called on gRPC's threads.
  SyncStream(v1::AgentService::Stub& agent, const SyncRules& rules, const std::stop_token& stop,
             std::chrono::milliseconds stall_limit, std::function<void()> hang_up,
             std::function<void(uint64_t bytes)> received);
  // Cancels the call if it has not ended.
  ~SyncStream() override;

  // Blocks until the message has been passed on. False: the call has ended; End returns the reason.
  bool Write(const v1::SyncRequest& message);
  // Blocks until there is a message other than bytes_written. nullopt at the end.
  std::optional<v1::SyncResponse> Read();
  // Blocks until the agent has ended the call; returns whether it has succeeded.
  Status End() { return AwaitEnd(); }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override { SetEnd(status); }

  SyncRules rules_;  // checks incoming_
  const std::function<void(uint64_t)> received_;
  v1::SyncResponse incoming_;

  // Guarded by mutex_.
  std::deque<v1::SyncResponse> responses_;
  bool writing_ = false;
  bool read_all_ = false;
};

}  // namespace autodist::transfer
