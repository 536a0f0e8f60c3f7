// The outcome of a call of AgentService that moves files.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "autodist/status.h"

namespace autodist::transfer {

// The first of these that holds is the outcome, in whatever order they become known. Not
// thread-safe.
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

}  // namespace autodist::transfer
