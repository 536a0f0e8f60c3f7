#include "chief/snapshot/snapshot_builder.h"

#include <google/protobuf/arena.h>

#include <map>
#include <utility>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "chief/attempt/cause.h"
#include "progress/job_progress.h"
#include "snapshot/derived.h"
#include "snapshot/lookup.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSameFor{1'000};  // max age if only the time has changed

// Not if a user stops the job, who knows what it has saved.
bool Failed(const Attempt& attempt) {
  const auto& cause = attempt.state().cause();
  return cause && cause->kind != Cause::Kind::kInterrupted && cause->kind != Cause::Kind::kTimedOut;
}

}  // namespace

void SnapshotBuilder::Launches(uint32_t attempt) {
  times_.Launches(attempt);
  ++changes_;
}

void SnapshotBuilder::BeginAttempt() {
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
  if (event.has_rank_started() && reported_.started() == attempt.processes()) times_.Runs();
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
  for (const v1::Issue& issue : detector_.Detect(snapshot, signs)) *snapshot.add_issues() = issue;
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
