#include "web/json.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

namespace autodist::web {
namespace {

using nlohmann::json;

std::string Text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  // Cannot fail: every field of our messages has a JSON form.
  (void)google::protobuf::util::MessageToJsonString(message, &text, options).ok();
  return text;
}

std::string Json(const JobsPage& page) {
  const json rest = {
      {"host", page.host}, {"job", page.job}, {"control", page.control}, {"viewers", page.viewers}};
  std::string text = Text(rest);
  text.back() = ',';
  text += "\"jobs\":[";
  for (const v1::JobStatus& full : page.jobs) {
    v1::JobStatus job = full;
    const int nodes = job.nodes_size();
    job.clear_nodes();
    job.clear_report();
    if (text.back() != '[') text += ',';
    text += "{\"status\":" + Json(job) + ",\"nodes\":" + std::to_string(nodes);
    if (const auto known = page.progress.find(job.job_id()); known != page.progress.end()) {
      text += ",\"progress\":" + Json(known->second);
    }
    text += '}';
  }
  return text + "]}";
}

std::string Json(const Hits& hits) {
  json list = json::array();
  for (const Hits::Hit& hit : hits.hits) list.push_back({{"line", hit.line}, {"text", hit.text}});
  json made = {{"hits", std::move(list)}, {"size", hits.size}};
  if (hits.next) made["next"] = *hits.next;
  return Text(made);
}

std::string TailJson(uint64_t from, uint64_t size, std::string_view text) {
  return Text({{"from", from}, {"to", from + text.size()}, {"size", size}, {"text", text}});
}

std::string ErrorJson(std::string_view what) { return Text({{"error", what}}); }

}  // namespace autodist::web
