// Messages within what the chief takes (rpc/limits.h).
#pragma once

#include <cstddef>
#include <set>
#include <string_view>

#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

struct MessageLimits {
  size_t longest_text;                       // bytes
  bool numbers = false;                      // also finite, not negative and not too large
  std::set<std::string_view> whole_lists{};  // fields that may be longer than others
};

// Whatever programs, drivers and names of devices say: texts are UTF-8 and short, lists not too
// long.
void LimitMessage(google::protobuf::Message& message, const MessageLimits& limits);

// Numbers and the whole, too.
void LimitSample(v1::NodeSample& sample);

}  // namespace autodist::agent
