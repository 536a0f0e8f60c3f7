// Messages as protobuf's JSON, with the names of the message: for what reads them as messages
// again.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::json {

// kAllFields: one line, with the fields that have their default.
enum class Layout { kOneLine, kAllFields, kIndented };

// kInvalidArgument: a text in it is not UTF-8.
Result<std::string> ToJson(const google::protobuf::Message& message, Layout layout);
// The same on one line, several times as fast, of a message without maps all whose texts are UTF-8.
std::string JsonText(const google::protobuf::Message& message);

// What the message does not have is wrong, or of a later version.
enum class Unknown { kRefused, kIgnored };

// kInvalidArgument: it is not such a message.
Status FromJson(std::string_view json, google::protobuf::Message& message,
                Unknown unknown = Unknown::kRefused);

}  // namespace autodist::json
