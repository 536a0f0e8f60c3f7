// What a call of AgentService that moves files has come to.
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
  // The agent has broken a rule: nothing that it says counts any more.
  void BreakRule(const Status& rule) { broken_rule_ = rule; }
  // What the agent has said at its end; `error` is "" of one that has done all.
  void Finish(const std::string& error, const std::string& remedy);
  // It was given up, as nothing has moved; after a stop that was requested.
  void Stall(const std::string& what) { stalled_ = what; }
  // The call has ended, as gRPC has it.
  void End(const Status& status) { ended_ = status; }

  bool rule_broken() const { return !broken_rule_.ok(); }
  bool ended() const { return ended_.has_value(); }
  // Of a call that has ended, or of an agent that has broken a rule.
  Status Get(const std::stop_token& stop) const;

 private:
  Status broken_rule_;
  std::optional<Status> finished_;
  std::string stalled_;
  std::optional<Status> ended_;
};

}  // namespace autodist::transfer
