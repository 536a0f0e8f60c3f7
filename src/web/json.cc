#include "web/json.h"

#include <nlohmann/json.hpp>

#include "json/plain_json.h"
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
  for (const v1::JobStatus& job : page.jobs) {
    v1::ListedJob listed;
    *listed.mutable_status() = job;
    listed.mutable_status()->clear_nodes();
    listed.mutable_status()->clear_report();
    listed.set_nodes(static_cast<uint32_t>(job.nodes_size()));
    const snapshot::JobState state = snapshot::StateOf(job);
    listed.set_state(state.words);
    listed.set_mark(state.mark);
    if (const auto known = page.progress.find(job.job_id()); known != page.progress.end()) {
      *listed.mutable_progress() = known->second;
    }
    if (text.back() != '[') text += ',';
    text += json::PlainJson(listed);
  }
  return text + "]}";
}

std::string Json(const Hits& hits) {
  nlohmann::json list = nlohmann::json::array();
  for (const Hits::Hit& hit : hits.hits) list.push_back({{"line", hit.line}, {"text", hit.text}});
  const nlohmann::json next = hits.next ? nlohmann::json(*hits.next) : nlohmann::json();
  return Text({{"hits", std::move(list)}, {"size", hits.size}, {"next", next}});
}

std::string TailJson(uint64_t from, uint64_t size, std::string_view text) {
  return Text({{"from", from}, {"to", from + text.size()}, {"size", size}, {"text", text}});
}

std::string ErrorJson(std::string_view what) { return Text({{"error", what}}); }

}  // namespace autodist::web
