#include "chief/snapshot/snapshot_builder.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "chief/attempt/cause.h"
#include "control/snapshot_client.h"
#include "json/proto_json.h"
#include "progress/job_progress.h"
#include "snapshot/derived.h"
#include "snapshot/history_point.h"
#include "snapshot/lookup.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

// Boards that nothing but the time asks for take no more than a part in so many of a core; a viewer
// is shown one that is no older than that of it either.
constexpr int kShare = 20;
constexpr milliseconds kSameFor{1'000};        // what nothing has changed in but the time
constexpr milliseconds kPointInterval{2'000};  // of the history
constexpr milliseconds kPointOfEachNode{4};    // at least, in a job of many
constexpr milliseconds kLastCheckpointLimit{1'000};
constexpr milliseconds kPrintInterval{1'000};  // of progress as JSON
constexpr double kLongestStepMs = 86'400'000;
constexpr milliseconds kWriteInterval{60'000};  // so that something is left where we are killed

void WriteJson(const google::protobuf::Message& message, const base::LogFolder& folder,
               const std::string& name) {
  const Status written = folder.WriteFile(name, json::JsonText(message) + "\n");
  if (!written.ok()) base::Log(base::LogLevel::kWarning, Message(written));
}

// Whether it is a GPU whose number is known, as samples have it.
bool IsGpu(const v1::Device& device) {
  return device.kind() == v1::DEVICE_KIND_GPU && device.uuid().empty();
}

// The one whose failure ended the attempt.
bool IsCause(const Attempt& attempt, uint32_t rank) {
  const auto& cause = attempt.state().cause();
  return cause && cause->kind == Cause::Kind::kRankFailed && cause->exit.rank() == rank;
}

// Of itself: who stops a job knows what it has saved.
bool Failed(const Attempt& attempt) {
  const auto& cause = attempt.state().cause();
  return cause && cause->kind != Cause::Kind::kInterrupted && cause->kind != Cause::Kind::kTimedOut;
}

}  // namespace

SnapshotBuilder::SnapshotBuilder(const JobOptions& options, Loop& loop, const Fleet& nodes,
                                 const OutputRouter& output, const JobStatusRecorder& recorder,
                                 Warn warn)
    : options_(options),
      loop_(loop),
      nodes_(nodes),
      output_(output),
      recorder_(recorder),
      warn_(std::move(warn)),
      began_(loop.Now()),
      point_interval_(std::max(kPointInterval, nodes.size() * kPointOfEachNode)),
      samples_(nodes.size()),
      ledger_(0) {
  if (const std::string& folder = options_.request().checkpoint_dir(); !folder.empty()) {
    checkpoints_.emplace(std::filesystem::absolute(folder).string(), loop_);
  }
}

// Since we began, by a clock that nobody sets.
int64_t SnapshotBuilder::Elapsed() const { return Elapsed(loop_.Now()); }

int64_t SnapshotBuilder::Elapsed(Loop::Time at) const {
  return std::chrono::duration_cast<milliseconds>(at - began_).count();
}

void SnapshotBuilder::Launches() {
  ledger_.Launches(Elapsed());
  if (checkpoints_) checkpoints_->Look();  // also those that ranks wrote when they were told to end
  ++changes_;
}

void SnapshotBuilder::BeginAttempt() {
  pids_.clear();
  ends_.clear();
  warnings_.Begin();
  step_time_.reset();
  if (point_at_ == Loop::Time::max()) {
    point_at_ = loop_.Now() + point_interval_;
    write_at_ = loop_.Now() + kWriteInterval;
    print_at_ = loop_.Now() + kPrintInterval;
    point_ms_ = Elapsed();
    looks_ = checkpoints_.has_value();
  }
  ++changes_;
}

void SnapshotBuilder::Stops(const Attempt& attempt) {
  ledger_.Stops(Elapsed(), Failed(attempt));
  ++changes_;
}

void SnapshotBuilder::NodesChanged() {
  BookStalls();
  ++changes_;
}

void SnapshotBuilder::RanksHang(std::optional<Loop::Time> since) {
  if (std::exchange(hung_since_, since) == since) return;
  BookStalls();
  ++changes_;
}

void SnapshotBuilder::BookStalls() {
  if (hung_since_) return ledger_.Stalls(Elapsed(*hung_since_), true);
  if (no_step_since_) return ledger_.Stalls(*no_step_since_, true);
  ledger_.Stalls(Elapsed(), nodes_.AnyDisconnected());
}

void SnapshotBuilder::Take(const v1::AgentEvent& event, const Attempt& attempt) {
  if (event.has_rank_started()) {
    pids_[event.rank_started().rank()] = event.rank_started().pid();
    if (pids_.size() == attempt.processes()) ledger_.Runs(Elapsed());
  } else if (event.has_rank_exited()) {
    ends_[event.rank_exited().rank()] = {HowItEnded(event.rank_exited()),
                                         event.rank_exited().time_ns() / 1'000'000};
  } else {
    return;
  }
  ++changes_;
}

void SnapshotBuilder::TakeSample(uint32_t node, v1::NodeSample sample) {
  samples_[node] = std::move(sample);
  ++changes_;
}

void SnapshotBuilder::AddNodes(v1::JobSnapshot& snapshot) const {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const v1::NodeStatus& status = snapshot.job().nodes(static_cast<int>(i));
    v1::NodeSnapshot& node = *snapshot.add_nodes();
    node.set_address(status.address());
    node.set_phase(status.phase());
    node.set_detail(status.detail());
    const auto silent =
        std::chrono::duration_cast<milliseconds>(loop_.Now() - nodes_.node(i).heard());
    node.set_heard_ms(snapshot.time_ms() - silent.count());
    if (samples_[i]) *node.mutable_sample() = *samples_[i];
  }
}

void SnapshotBuilder::AddRank(const Attempt& attempt, uint32_t node, const v1::RankPlan& planned,
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
    rank.set_ended_ms(end->second.ms);
  } else if (!attempt.state().Runs(planned.rank())) {
    rank.set_state(v1::RANK_STATE_LOST);
  } else if (nodes_.state(node).disconnected()) {
    rank.set_state(v1::RANK_STATE_AWAY);
  } else {
    rank.set_state(rank.pid() > 0 ? v1::RANK_STATE_RUNNING : v1::RANK_STATE_STARTING);
  }
  if (!attempt.logs) return;
  RankTold told = attempt.logs->ToldBy(planned.rank());
  if (told.progress) *rank.mutable_progress() = *std::move(told.progress);
  rank.set_last_line(base::ToUtf8(told.last_line));
  rank.set_last_output_ms(told.last_output_ms);
  if (told.failure.empty()) return;
  rank.set_failure(base::ToUtf8(told.failure));
  rank.set_failure_ms(told.failure_ms);
}

void SnapshotBuilder::AddRanks(const Attempt& attempt, v1::JobSnapshot& snapshot) const {
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
    // Told there, by rank.
    if (of.has_sample()) of.mutable_sample()->clear_ranks();
  }
  // By pointers, as the messages are large.
  std::sort(
      snapshot.mutable_ranks()->pointer_begin(), snapshot.mutable_ranks()->pointer_end(),
      [](const v1::RankSnapshot* a, const v1::RankSnapshot* b) { return a->rank() < b->rank(); });
}

SnapshotBuilder::Snapshot SnapshotBuilder::Now(const Attempt& attempt) {
  const Loop::Time began = loop_.Now();
  if (!snapshot_ || snapshot_->version() != Version(attempt) || began - made_ > kSameFor) {
    snapshot_.reset();  // of thousands of ranks, two take much memory
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
  AddNodes(snapshot);
  AddRanks(attempt, snapshot);
  std::map<uint32_t, v1::Progress> told;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.has_progress() && !rank.auxiliary()) told[rank.rank()] = rank.progress();
  }
  if (auto progress = progress::OfJob(told)) {
    if (progress->has_step()) ledger_.FirstStep(Elapsed());
    *snapshot.mutable_progress() = *progress;
  }
  const auto& events = recorder_.events().last();
  *snapshot.mutable_events() = {events.begin(), events.end()};
  NoteStandstill(attempt, snapshot);
  BookStalls();
  *snapshot.mutable_ledger() = ledger_.At(Elapsed());
  snapshot::Derive(snapshot);
}

// What is not well, and that a job which makes no steps has no rate.
void SnapshotBuilder::NoteStandstill(const Attempt& attempt, v1::JobSnapshot& snapshot) {
  issues::IssueDetector::Signs signs;
  if (hung_since_) signs.silent_since_ms = snapshot.time_ms() - (Elapsed() - Elapsed(*hung_since_));
  if (attempt.logs) signs.other_work_ms = attempt.logs->other_work_ms();
  for (const v1::Issue& issue : detector_.Detect(snapshot, signs)) *snapshot.add_troubles() = issue;
  const v1::Issue* const standstill = snapshot::StandstillIn(snapshot);
  const bool was = no_step_since_.has_value();
  no_step_since_.reset();
  if (standstill) {
    no_step_since_ = Elapsed() - (snapshot.time_ms() - standstill->since_ms());
    const auto stop = [](v1::Progress& progress) {
      if (progress.has_rate()) progress.set_rate(0);
      progress.clear_eta();
    };
    if (snapshot.has_progress()) stop(*snapshot.mutable_progress());
    for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
      if (rank.has_progress()) stop(*rank.mutable_progress());
    }
  }
  if (was != no_step_since_.has_value()) ++changes_;  // those who look are shown it
}

// Another one where anything has changed, also by what ranks write; whatever becomes of nodes and
// job is recorded.
uint64_t SnapshotBuilder::Version(const Attempt& attempt) {
  const uint64_t told = attempt.logs ? attempt.logs->told() : 0;
  if (std::exchange(told_, told) != told) ++changes_;
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

void SnapshotBuilder::BookCheckpoint(const std::optional<CheckpointWatch::Seen>& seen) {
  if (!seen) return;
  if (!seen->written) return ledger_.Looked({});
  ledger_.Looked(std::chrono::duration_cast<milliseconds>(*seen->written - began_).count());
}

Loop::Time SnapshotBuilder::Tick(const Attempt& attempt) {
  const Loop::Time now = loop_.Now();
  if (looks_) {
    if (now >= checkpoints_->due()) checkpoints_->Look();
    BookCheckpoint(checkpoints_->Take());
  }
  if (now >= point_at_) {
    const int64_t width = Elapsed() - point_ms_;
    point_ms_ += width;
    const Snapshot snapshot = Now(attempt);
    point_at_ = now + std::max<Loop::Time::duration>(point_interval_, kShare * making_);
    history_.Add(snapshot::PointOf(*snapshot, width));
    if (snapshot->has_median_step()) {
      const double step_ms = 1000 * snapshot->median_step();
      step_time_ = milliseconds(static_cast<int64_t>(std::min(step_ms, kLongestStepMs)));
    }
    for (const IssueWarning& warning : warnings_.Take(*snapshot)) warn_(warning);
  }
  if (options_.print_json && now >= print_at_) {
    print_at_ = now + std::max<Loop::Time::duration>(kPrintInterval, kShare * making_);
    PrintProgress(*Now(attempt));
  }
  if (now >= write_at_) {
    write_at_ = now + kWriteInterval;
    Write(attempt);
  }
  const Loop::Time print_at = options_.print_json ? print_at_ : Loop::Time::max();
  return std::min(
      {point_at_, write_at_, print_at, looks_ ? checkpoints_->due() : Loop::Time::max()});
}

void SnapshotBuilder::PrintProgress(const v1::JobSnapshot& snapshot) {
  const uint64_t step = snapshot.progress().step();
  if (!options_.print_json || std::exchange(printed_step_, step) == step) return;
  options_.print_json(TypedJson("progress", snapshot.progress()));
}

void SnapshotBuilder::Write(const Attempt& attempt) {
  loop_.InBackground(
      [snapshot = Now(attempt), history = history_.Since(0), folder = options_.log_folder] {
        WriteJson(*snapshot, folder, control::kSnapshotFile);
        WriteJson(history, folder, control::kHistoryFile);
      });
}

void SnapshotBuilder::End(const Attempt& attempt) {
  ledger_.Ends(Elapsed());
  ++changes_;
  point_at_ = write_at_ = print_at_ = Loop::Time::max();
  looks_ = false;
  if (checkpoints_) {
    BookCheckpoint(checkpoints_->Await(kLastCheckpointLimit));  // one that had begun
    checkpoints_->Look();
    BookCheckpoint(checkpoints_->Await(kLastCheckpointLimit));
  }
  Write(attempt);
}

}  // namespace autodist::chief
