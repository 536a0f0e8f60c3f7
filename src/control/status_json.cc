#include "control/status_json.h"

#include "json/plain_json.h"

namespace autodist::control {

std::string StatusJson(const v1::JobStatus& job, const std::optional<v1::Progress>& progress) {
  const bool ended = job.phase() == v1::JOB_PHASE_ENDED;
  const bool crashed = job.chief_gone() && !ended;
  json::Style style;
  const auto null_if = [&](bool nothing, std::string_view field) {
    if (nothing) style.instead[field] = "null";
  };
  null_if(!ended, "exit_code");
  null_if(!ended, "report");
  null_if(job.started_ms() == 0, "started_ms");
  null_if(job.ended_ms() == 0, "ended_ms");
  null_if(job.last_output_ms() == 0, "last_output_ms");
  null_if(job.chief_pid() == 0, "chief_pid");
  if (crashed) style.instead["phase"] = "\"crashed\"";
  style.more = {{"progress", progress ? json::PlainJson(*progress) : "null"}};
  if (!crashed) return json::PlainJson(job, style);
  // The current state of the nodes is unknown.
  v1::JobStatus known = job;
  for (v1::NodeStatus& node : *known.mutable_nodes()) {
    node.clear_phase();
    node.clear_running_ranks();
  }
  return json::PlainJson(known, style);
}

}  // namespace autodist::control
