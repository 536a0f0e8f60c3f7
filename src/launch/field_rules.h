// Validation of all fields of a message, independently of their meaning.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>

#include "autodist/status.h"
#include "rpc/limits.h"

namespace autodist::launch {

struct FieldLimits {
  int list = rpc::kMaxListLength;     // elements
  size_t text = rpc::kMaxTextLength;  // bytes; of strings, not of `bytes` fields
  bool numbers = false;               // whether amounts and counts have the limits of a sample
};

// Checks all fields, including those of nested messages. Returns OK, or a broken rule
// (launch/agent_rules.h).
Status CheckFields(const google::protobuf::Message& message, const FieldLimits& limits);

}  // namespace autodist::launch
