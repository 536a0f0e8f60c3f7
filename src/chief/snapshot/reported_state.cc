#include "chief/snapshot/reported_state.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "chief/attempt/cause.h"

namespace autodist::chief {
namespace {

// Returns whether it is a GPU with an index, as samples have it.
bool IsGpu(const v1::Device& device) {
  return device.kind() == v1::DEVICE_KIND_GPU && device.uuid().empty();
}

// Returns whether the rank's failure ended the attempt.
bool IsCause(const Attempt& attempt, uint32_t rank) {
  const auto& cause = attempt.state().cause();
  return cause && cause->kind == Cause::Kind::kRankFailed && cause->exit.rank() == rank;
}

}  // namespace

bool ReportedState::Take(const v1::AgentEvent& event) {
  if (event.has_rank_started()) {
    pids_[event.rank_started().rank()] = event.rank_started().pid();
  } else if (event.has_rank_exited()) {
    ends_[event.rank_exited().rank()] = {HowItEnded(event.rank_exited()),
                                         static_cast<uint32_t>(ExitCodeOf(event.rank_exited())),
                                         event.rank_exited().time_ns() / 1'000'000};
  }
  return event.has_rank_started() || event.has_rank_exited();
}

void ReportedState::AddNodes(v1::JobSnapshot& snapshot) const {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const v1::NodeStatus& status = snapshot.job().nodes(static_cast<int>(i));
    v1::NodeSnapshot& node = *snapshot.add_nodes();
    node.set_address(status.address());
    node.set_phase(status.phase());
    node.set_detail(status.detail());
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(
        loop_.Now() - nodes_.node(i).last_contact());
    node.set_last_contact_ms(snapshot.time_ms() - silent.count());
    if (samples_[i]) *node.mutable_sample() = *samples_[i];
  }
}

void ReportedState::AddRank(const Attempt& attempt, uint32_t node, const v1::RankPlan& planned,
                            v1::RankSnapshot& rank) const {
  rank.set_rank(planned.rank());
  rank.set_node(node);
  rank.set_local_rank(planned.local_rank());
  rank.set_auxiliary(planned.auxiliary());
  rank.set_name(planned.name());
  if (IsGpu(planned.device())) rank.add_gpus(planned.device().index());
  const auto pid = pids_.find(planned.rank());
  if (pid != pids_.end()) rank.set_pid(pid->second);
  if (const auto end = ends_.find(planned.rank()); end != ends_.end()) {
    rank.set_state(IsCause(attempt, planned.rank()) ? v1::RANK_STATE_FAILED : v1::RANK_STATE_ENDED);
    rank.set_ended(base::ToUtf8(end->second.how));
    rank.set_exit_code(end->second.code);
    rank.set_ended_ms(end->second.ms);
  } else if (!attempt.state().Runs(planned.rank())) {
    rank.set_state(v1::RANK_STATE_LOST);
  } else if (nodes_.state(node).disconnected()) {
    rank.set_state(v1::RANK_STATE_DISCONNECTED);
  } else {
    rank.set_state(rank.pid() > 0 ? v1::RANK_STATE_RUNNING : v1::RANK_STATE_STARTING);
  }
  if (!attempt.logs) return;
  RankReport report = attempt.logs->LastReport(planned.rank());
  if (report.progress) *rank.mutable_progress() = *std::move(report.progress);
  rank.set_last_line(base::ToUtf8(report.last_line));
  rank.set_last_output_ms(report.last_output_ms);
  if (report.failure.empty()) return;
  rank.set_failure(base::ToUtf8(report.failure));
  rank.set_failure_ms(report.failure_ms);
}

void ReportedState::AddTo(v1::JobSnapshot& snapshot, const Attempt& attempt) const {
  AddNodes(snapshot);
  snapshot.mutable_ranks()->Reserve(static_cast<int>(attempt.processes()));
  for (uint32_t member = 0; member < attempt.nodes().size(); ++member) {
    const uint32_t node = attempt.nodes()[member];
    const v1::NodePlan& planned = attempt.member_plan(member);
    v1::NodeSnapshot& of = *snapshot.mutable_nodes(static_cast<int>(node));
    std::map<uint32_t, v1::RankSample*> samples;
    if (of.has_sample()) {
      for (v1::RankSample& sample : *of.mutable_sample()->mutable_ranks()) {
        samples[sample.rank()] = &sample;
      }
    }
    for (const v1::RankPlan& process : planned.ranks()) {
      of.add_ranks(process.rank());
      v1::RankSnapshot& rank = *snapshot.add_ranks();
      AddRank(attempt, node, process, rank);
      if (!process.has_device() && !process.auxiliary()) {
        for (const v1::Device& device : planned.devices()) {
          if (IsGpu(device)) rank.add_gpus(device.index());
        }
      }
      const auto sample = samples.find(process.rank());
      if (sample != samples.end()) *rank.mutable_sample() = std::move(*sample->second);
    }
    // Moved to the ranks above.
    if (of.has_sample()) of.mutable_sample()->clear_ranks();
  }
  // Sorts pointers, because the messages are large.
  std::sort(
      snapshot.mutable_ranks()->pointer_begin(), snapshot.mutable_ranks()->pointer_end(),
      [](const v1::RankSnapshot* a, const v1::RankSnapshot* b) { return a->rank() < b->rank(); });
}

}  // namespace autodist::chief
