#include "chief/snapshot/snapshot_builder.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <google/protobuf/arena.h>
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "chief/attempt/cause.h"
#include "progress/job_progress.h"
#include "snapshot/derived.h"
#include "snapshot/lookup.h"

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

using std::chrono::milliseconds;

constexpr milliseconds kSameFor{1'000};  // max age if only the time has changed

// Not if a user stops the job, who knows what it has saved.
bool Failed(const Attempt& attempt) {
  const auto& cause = attempt.state().cause();
  return cause && cause->kind != Cause::Kind::kInterrupted && cause->kind != Cause::Kind::kTimedOut;
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

void SnapshotBuilder::Launches(uint32_t attempt) {
  times_.Launches(attempt);
  ++changes_;
}

void SnapshotBuilder::BeginAttempt() {
  standstill_.reset();
  times_.RanksHang(std::nullopt);  // those of the previous attempt
  reported_.BeginAttempt();
  times_.BeginAttempt();
  ++changes_;
}

void SnapshotBuilder::Stops(const Attempt& attempt) {
  const auto& cause = attempt.state().cause();
  const bool lost = cause && cause->kind == Cause::Kind::kNodeLost;
  const Loop::Time now = loop_.Now();
  const Loop::Time since =
      lost ? nodes_.node(attempt.nodes()[cause->node_rank]).last_contact() : now;
  times_.Stops(Failed(attempt), std::max(now - since, Loop::Time::duration(0)));
  ++changes_;
}

void SnapshotBuilder::NodesChanged() {
  times_.BookStalls();
  ++changes_;
}

void SnapshotBuilder::RanksHang(std::optional<Loop::Time> since) {
  if (times_.RanksHang(since)) ++changes_;
}

void SnapshotBuilder::Take(const v1::AgentEvent& event, const Attempt& attempt) {
  if (!reported_.Take(event)) return;
  if (event.has_rank_started() && reported_.started() == attempt.processes()) {
    times_.Runs(loop_.Now());
  }
  ++changes_;
}

void SnapshotBuilder::TakeSample(uint32_t node, v1::NodeSample sample) {
  reported_.TakeSample(node, std::move(sample));
  ++changes_;
}

SnapshotBuilder::Snapshot SnapshotBuilder::Now(const Attempt& attempt) {
  const Loop::Time began = loop_.Now();
  if (!snapshot_ || snapshot_->version() != Version(attempt) || began - made_ > kSameFor) {
    snapshot_.reset();  // two of thousands of ranks take much memory
    const auto arena = std::make_shared<google::protobuf::Arena>();
    auto* const snapshot = google::protobuf::Arena::CreateMessage<v1::JobSnapshot>(arena.get());
    Fill(attempt, *snapshot);
    snapshot_ = {arena, snapshot};
    made_ = loop_.Now();
    making_ = made_ - began;
  }
  return snapshot_;
}

void SnapshotBuilder::Fill(const Attempt& attempt, v1::JobSnapshot& snapshot) {
  snapshot.set_version(Version(attempt));
  snapshot.set_time_ms(base::MillisecondsSince1970());
  *snapshot.mutable_job() = recorder_.StatusNow(nodes_, attempt, output_.last_ms());
  const milliseconds sample =
      launch::SampleInterval(options_.request(), static_cast<int>(nodes_.size()));
  snapshot.set_sample_ms(static_cast<uint32_t>(sample.count()));
  reported_.AddTo(snapshot, attempt);
  std::map<uint32_t, v1::Progress> reported;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.has_progress() && !rank.auxiliary()) reported[rank.rank()] = rank.progress();
  }
  if (auto progress = progress::OfJob(reported)) {
    if (progress->has_step()) times_.FirstStep(loop_.Now() - attempt.logs->since_first_step());
    *snapshot.mutable_progress() = *progress;
  }
  const auto& events = recorder_.events().last();
  *snapshot.mutable_events() = {events.begin(), events.end()};
  NoteStandstill(attempt, snapshot);
  *snapshot.mutable_goodput_parts() = times_.Now();
  *snapshot.mutable_recoveries() = {times_.recoveries().begin(), times_.recoveries().end()};
  if (const auto& checkpoint = times_.newest_file()) {
    snapshot.set_checkpoint(base::ToUtf8(checkpoint->name));
    snapshot.set_checkpoint_ms(checkpoint->written_ns / 1'000'000);
  }
  snapshot::Derive(snapshot);
}

// Adds the issues, and clears the rates if the job makes no steps.
void SnapshotBuilder::NoteStandstill(const Attempt& attempt, v1::JobSnapshot& snapshot) {
  issues::IssueDetector::Signs signs;
  const auto hung_for = times_.hung_for();
  if (hung_for) signs.silent_since_ms = snapshot.time_ms() - hung_for->count();
  if (attempt.logs) signs.other_work_ms = attempt.logs->other_work_ms();
  // Until then, the ranks were suspended, or their steps were not noticed.
  if (loop_.resumed() != Loop::Time{}) {
    const auto ago = std::chrono::duration_cast<milliseconds>(loop_.Now() - loop_.resumed());
    signs.other_work_ms = std::max(signs.other_work_ms, snapshot.time_ms() - ago.count());
  }
  standstill_.reset();
  for (v1::Issue& issue : detector_.Detect(snapshot, signs)) {
    if (issue.kind() == v1::Issue::KIND_STALLED) {
      standstill_ = issue;
      AddCause(issue);
    }
    *snapshot.add_issues() = std::move(issue);
  }
  const v1::Issue* const standstill = snapshot::StandstillIn(snapshot);
  std::optional<milliseconds> no_step_for;
  if (standstill) {
    no_step_for.emplace(snapshot.time_ms() - standstill->since_ms());
    const auto stop = [](v1::Progress& progress) {
      if (progress.has_rate()) progress.set_rate(0);
      progress.clear_eta();
    };
    if (snapshot.has_progress()) stop(*snapshot.mutable_progress());
    for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
      if (rank.has_progress()) stop(*rank.mutable_progress());
    }
  }
  if (times_.MakesNoStep(no_step_for)) ++changes_;  // so that clients receive it
}

void SnapshotBuilder::SetStandstillCause(std::optional<v1::Issue> cause) {
  if (!cause && !cause_) return;
  cause_ = std::move(cause);
  ++changes_;
}

void SnapshotBuilder::AddCause(v1::Issue& standstill) const {
  if (!cause_) return;
  standstill.set_what(standstill.what() + "; " + cause_->what());
  standstill.mutable_ranks()->MergeFrom(cause_->ranks());
  standstill.mutable_nodes()->MergeFrom(cause_->nodes());
  standstill.mutable_evidence()->MergeFrom(cause_->evidence());
}

// Changes whenever anything changes, also output of ranks; changes of nodes and the job are
// recorded events.
uint64_t SnapshotBuilder::Version(const Attempt& attempt) {
  const uint64_t reported = attempt.logs ? attempt.logs->report_version() : 0;
  if (std::exchange(reports_, reported) != reported) ++changes_;
  return changes_ + recorder_.events().recorded();
}

SnapshotBuilder::Snapshot SnapshotBuilder::Answer(uint64_t known, const Attempt& attempt) {
  if (Version(attempt) != known) {
    const bool young = snapshot_ && loop_.Now() - made_ < kShare * making_;
    Snapshot snapshot = young ? snapshot_ : Now(attempt);
    if (snapshot->version() != known) return snapshot;
  }
  v1::JobSnapshot same;
  same.set_version(known);
  return std::make_shared<const v1::JobSnapshot>(std::move(same));
}

void SnapshotBuilder::End() {
  times_.End();
  ++changes_;
}

}  // namespace autodist::chief
