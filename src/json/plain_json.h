// JSON as scripts expect it, of the messages that commands print.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autodist::json {

// What is printed for a field that is not set.
enum class Absent {
  kNull,     // null; numbers that are zero, texts and lists that are empty are printed as they are
  kOmitted,  // nothing, nor for zeros and what is empty
};

// How fields and values are written.
enum class Values {
  kPlain,     // as below
  kProtobuf,  // as protobuf's JSON has them, with the names of the message
};

struct Style {
  Absent absent = Absent::kNull;
  Values values = Values::kPlain;
  bool indented = false;  // else on one line
  // Of the message itself, not of those in it: values in place of those of these fields, and fields
  // that come last. Both are JSON.
  std::map<std::string_view, std::string> instead = {};
  std::vector<std::pair<std::string_view, std::string>> more = {};
};

// Fields have the names of the message, but what is called phase is called state. Numbers of 64
// bits are numbers; the value JOB_PHASE_RUNNING of an enum is "running", one that is unspecified
// null; so are numbers that are not finite. Text has to be UTF-8. Maps are not written as such.
std::string PlainJson(const google::protobuf::Message& message, const Style& style = {});

}  // namespace autodist::json
