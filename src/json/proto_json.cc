#include "json/proto_json.h"

#include <google/protobuf/util/json_util.h>

namespace autodist::json {
namespace {

Status WrongMessage(const google::protobuf::Message& message, std::string_view why) {
  return Error(StatusCode::kInvalidArgument,
               "not a " + message.GetDescriptor()->name() + ": " + std::string(why));
}

}  // namespace

Result<std::string> ToJson(const google::protobuf::Message& message, Layout layout) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = layout == Layout::kIndented;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return WrongMessage(message, status.ToString());
  return json;
}

Status FromJson(std::string_view json, google::protobuf::Message& message, Unknown unknown) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = unknown == Unknown::kIgnored;
  const auto status =
      google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &message, options);
  return status.ok() ? OkStatus() : WrongMessage(message, status.ToString());
}

}  // namespace autodist::json
