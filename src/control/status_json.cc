#include "control/status_json.h"

#include <absl/strings/str_join.h>

#include "json/plain_json.h"
#include "snapshot/lookup.h"

namespace autodist::control {
namespace {

bool Crashed(const v1::JobStatus& job) {
  return job.chief_gone() && job.phase() != v1::JOB_PHASE_ENDED;
}

}  // namespace

std::string StatusJson(const v1::JobStatus& job, const std::optional<v1::Progress>& progress,
                       const std::vector<std::pair<std::string_view, std::string>>& more) {
  const bool crashed = Crashed(job);
  json::Style style;
  if (crashed) style.instead["phase"] = "\"crashed\"";
  style.more = {{"progress", progress ? json::PlainJson(*progress) : "null"}};
  style.more.insert(style.more.end(), more.begin(), more.end());
  if (!crashed) return json::PlainJson(job, style);
  // The current state of the nodes is unknown.
  v1::JobStatus known = job;
  for (v1::NodeStatus& node : *known.mutable_nodes()) {
    node.clear_phase();
    node.clear_running_ranks();
  }
  return json::PlainJson(known, style);
}

std::string RanksJson(const v1::JobStatus& job, const v1::JobSnapshot& snapshot) {
  std::vector<std::string> ranks;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.auxiliary()) continue;
    v1::RankStatus status;
    status.set_rank(rank.rank());
    if (rank.has_pid()) status.set_pid(rank.pid());
    if (const auto* node = snapshot::NodeOf(snapshot, rank)) status.set_node(node->address());
    if (rank.has_exit_code()) {
      status.set_exit_code(rank.exit_code());
      status.set_ended(rank.ended());
      status.set_ended_ms(rank.ended_ms());
    }
    if (rank.has_exit_code() || !Crashed(job)) status.set_state(rank.state());
    ranks.push_back(json::PlainJson(status));
  }
  return '[' + absl::StrJoin(ranks, ",") + ']';
}

}  // namespace autodist::control
