// Truncates messages to the limits of the chief (rpc/limits.h).
#pragma once

#include <cstddef>
#include <set>
#include <string_view>

#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

struct MessageLimits {
  size_t longest_text;                       // bytes
  bool numbers = false;                      // also finite, not negative and not too large
  std::set<std::string_view> whole_lists{};  // fields without a limit on the list length
};

// For texts of programs, drivers and device names: makes texts UTF-8 and short, and shortens lists.
void LimitMessage(google::protobuf::Message& message, const MessageLimits& limits);

// Also limits numbers and the total size.
void LimitSample(v1::NodeSample& sample);

}  // namespace autodist::agent
