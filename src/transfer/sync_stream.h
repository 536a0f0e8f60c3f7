// One call of AgentService.Sync, which copies a folder to a node: gRPC's asynchronous stream with a
// blocking interface.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "transfer/call_outcome.h"
#include "transfer/transfer_rules.h"

namespace autodist::transfer {

// For one thread; gRPC's threads call the callbacks.
class SyncStream final : public grpc::ClientBidiReactor<v1::SyncRequest, v1::SyncResponse> {
 public:
  // `stop` cancels the call, and so does a time of `stall_limit` without data. `hang_up` closes the
  // connection if the call does not end otherwise. `received` gets the total number of content
  // bytes that the agent has; called on gRPC's threads.
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
  Status End();

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  template <typename Condition>
  void Await(std::unique_lock<std::mutex>& lock, Condition condition);
  void Cancel();

  using Clock = std::chrono::steady_clock;

  SyncRules rules_;  // checks incoming_
  const std::stop_token stop_;
  const std::chrono::milliseconds stall_limit_;
  const std::function<void()> hang_up_;
  const std::function<void(uint64_t)> received_;
  grpc::ClientContext context_;
  v1::SyncResponse incoming_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  Clock::time_point moved_ = Clock::now();
  std::optional<Clock::time_point> cancelled_;  // when the call was cancelled
  std::deque<v1::SyncResponse> responses_;
  bool writing_ = false;
  bool read_all_ = false;
  CallOutcome outcome_;
};

}  // namespace autodist::transfer
