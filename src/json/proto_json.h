// Messages as protobuf's JSON, with the names of the message: for what reads them as messages
// again.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::json {

enum class Layout { kOneLine, kIndented };

// kInvalidArgument: a text in it is not UTF-8.
Result<std::string> ToJson(const google::protobuf::Message& message, Layout layout);

// kInvalidArgument: it is not such a message; what the message does not have is wrong.
Status FromJson(std::string_view json, google::protobuf::Message& message);

}  // namespace autodist::json
