// Converts messages to JSON for scripts and the page: the only form of JSON that users see.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autodist::json {

struct Style {
  bool indented = false;  // on several lines
  // For the outer message only: replacement values for fields, and additional fields at the end.
  // Both are JSON.
  std::map<std::string_view, std::string> instead = {};
  std::vector<std::pair<std::string_view, std::string>> more = {};
};

// Every field is printed, also if it is zero or empty; only unset members of a oneof are left out.
// null stands for what is unknown: an optional field or a message that is not set, an unspecified
// enum value, a number that is not finite, and a time of 0 (a 64-bit field "..._ms"). Fields have
// the message's names, except that "phase" becomes "state". 64-bit numbers are numbers. The enum
// value JOB_PHASE_RUNNING becomes "running". Text must be UTF-8. Maps are not supported.
std::string PlainJson(const google::protobuf::Message& message, const Style& style = {});

}  // namespace autodist::json
