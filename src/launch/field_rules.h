// What all fields of a message keep to, whatever they are.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>

#include "autodist/status.h"
#include "rpc/limits.h"

namespace autodist::launch {

struct FieldLimits {
  int list = rpc::kMaxListLength;     // elements
  size_t text = rpc::kMaxTextLength;  // bytes; of strings, not of what the field calls bytes
  bool numbers = false;               // amounts and counts are those that a sample may have
};

// Of all fields in it, also of the messages that it holds. OK, or a broken rule
// (launch/agent_rules.h).
Status CheckFields(const google::protobuf::Message& message, const FieldLimits& limits);

}  // namespace autodist::launch
