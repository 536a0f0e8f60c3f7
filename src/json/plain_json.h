// Converts messages to JSON for scripts, as commands print it.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autodist::json {

// Output for unset fields.
enum class Absent {
  kNull,     // null; zeros, empty texts and empty lists are printed
  kOmitted,  // nothing, also for zeros and empty values
};

// Notation of fields and values.
enum class Values {
  kPlain,     // as described below
  kProtobuf,  // as in protobuf's JSON, with the message's field names
};

struct Style {
  Absent absent = Absent::kNull;
  Values values = Values::kPlain;
  bool indented = false;  // on several lines
  // For the outer message only: replacement values for fields, and additional fields at the end.
  // Both are JSON.
  std::map<std::string_view, std::string> instead = {};
  std::vector<std::pair<std::string_view, std::string>> more = {};
};

// Fields have the message's names, except that "phase" becomes "state". 64-bit numbers are numbers.
// The enum value JOB_PHASE_RUNNING becomes "running"; unspecified values and non-finite numbers
// become null. Text must be UTF-8. Maps are not supported.
std::string PlainJson(const google::protobuf::Message& message, const Style& style = {});

}  // namespace autodist::json
