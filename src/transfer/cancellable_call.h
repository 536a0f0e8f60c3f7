// What the calls of AgentService that move files have in common: they end in time, even if gRPC and
// the connection do not.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/agent.grpc.pb.h"

namespace autodist::transfer {

// The outcome of a call. The first of these that holds is the outcome, in whatever order they
// become known. Not thread-safe.
class CallOutcome {
 public:
  // The agent has broken a rule; its other messages are ignored.
  void BreakRule(const Status& rule) { broken_rule_ = rule; }
  // The agent's final message; `error` is "" on success.
  void Finish(const std::string& error, const std::string& remedy);
  // The call was cancelled because no data moved, or after a requested stop.
  void Stall(const std::string& what) { stalled_ = what; }
  // The call has ended with gRPC's status.
  void End(const Status& status) { ended_ = status; }

  bool rule_broken() const { return !broken_rule_.ok(); }
  bool ended() const { return ended_.has_value(); }
  // Call after the call has ended, or after the agent has broken a rule.
  Status Get(const std::stop_token& stop) const;

 private:
  Status broken_rule_;
  std::optional<Status> finished_;
  std::string stalled_;
  std::optional<Status> ended_;
};

// A base of gRPC's reactors. gRPC's threads and one other thread use the members.
class CancellableCall {
 protected:
  using Clock = std::chrono::steady_clock;

  // `stop` cancels the call, and so does a time of `stall_limit` without data. `hang_up` closes the
  // connection if the call does not end otherwise.
  CancellableCall(std::stop_token stop, std::chrono::milliseconds stall_limit,
                  std::function<void()> hang_up)
      : stop_(std::move(stop)), stall_limit_(stall_limit), hang_up_(std::move(hang_up)) {}
  ~CancellableCall() = default;

  // Waits for the condition, which must hold once no read or write is in progress.
  void Await(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition);
  void Cancel();
  // Blocks until the agent has ended the call or has broken a rule; returns whether it has
  // succeeded.
  Status AwaitEnd();
  void SetEnd(const grpc::Status& status);

  grpc::ClientContext context_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  Clock::time_point moved_ = Clock::now();
  std::optional<Clock::time_point> cancelled_;  // when the call was cancelled
  CallOutcome outcome_;

 private:
  const std::stop_token stop_;
  const std::chrono::milliseconds stall_limit_;
  const std::function<void()> hang_up_;
};

}  // namespace autodist::transfer
