// Converts messages to protobuf's JSON and back, with the message's field names.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::json {

enum class Layout { kOneLine, kIndented };

// kInvalidArgument: a text is not UTF-8.
Result<std::string> ToJson(const google::protobuf::Message& message, Layout layout);
// The same on one line and several times as fast, for a message without maps whose texts are UTF-8.
std::string JsonText(const google::protobuf::Message& message);

// Unknown fields are errors, or belong to a later version.
enum class Unknown { kRefused, kIgnored };

// kInvalidArgument: the JSON is not such a message.
Status FromJson(std::string_view json, google::protobuf::Message& message,
                Unknown unknown = Unknown::kRefused);

}  // namespace autodist::json
