#include "web/json.h"

#include <nlohmann/json.hpp>

#include "base/json_quote.h"
#include "json/proto_json.h"
#include "snapshot/state_names.h"

namespace autodist::web {
namespace {

std::string Text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string Json(const JobsPage& page) {
  const nlohmann::json rest = {
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
    const snapshot::JobState state = snapshot::StateOf(job);
    text += "{\"status\":" + json::JsonText(job) + ",\"nodes\":" + std::to_string(nodes) +
            ",\"state\":" + base::JsonQuoted(state.words) +
            ",\"mark\":" + base::JsonQuoted(v1::Mark_Name(state.mark));
    if (const auto known = page.progress.find(job.job_id()); known != page.progress.end()) {
      text += ",\"progress\":" + json::JsonText(known->second);
    }
    text += '}';
  }
  return text + "]}";
}

std::string Json(const Hits& hits) {
  nlohmann::json list = nlohmann::json::array();
  for (const Hits::Hit& hit : hits.hits) list.push_back({{"line", hit.line}, {"text", hit.text}});
  nlohmann::json made = {{"hits", std::move(list)}, {"size", hits.size}};
  if (hits.next) made["next"] = *hits.next;
  return Text(made);
}

std::string TailJson(uint64_t from, uint64_t size, std::string_view text) {
  return Text({{"from", from}, {"to", from + text.size()}, {"size", size}, {"text", text}});
}

std::string ErrorJson(std::string_view what) { return Text({{"error", what}}); }

}  // namespace autodist::web
