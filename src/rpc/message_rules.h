// Validation rules for all messages of agents. All data from nodes is untrusted: a node whose agent
// breaks a rule has failed. Rules for each kind of message: launch/agent_rules and
// transfer/transfer_rules.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/status.h"

namespace autodist::rpc {

inline constexpr uint64_t kLargestSize = uint64_t{1} << 62;  // bytes, of a file or an offset there

// The failure of a node that has broken a rule.
Status BrokenRule(const std::string& how);
bool IsBrokenRule(const Status& status);

// Each returns OK, or a broken rule.
Status CheckTime(int64_t time_ns);  // nanoseconds since 1970
Status CheckPort(uint32_t port);

}  // namespace autodist::rpc
