#include "chief/snapshot/job_history.h"

#include <algorithm>
#include <utility>

#include "base/wall_clock.h"
#include "chief/snapshot/job_status_recorder.h"
#include "control/snapshot_client.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "json/proto_json.h"
#include "snapshot/history_point.h"
#include "snapshot/lookup.h"

namespace autodist::chief {
namespace {

bool IsReported(const v1::Issue& issue) {
  return issue.kind() == v1::Issue::KIND_SLOW || issue.kind() == v1::Issue::KIND_WARNING;
}

const std::string& CauseOf(const v1::Issue& issue) {
  return issue.evidence_size() > 0 ? issue.evidence(0).what() : issue.what();
}

bool IsOfSteps(const v1::Issue& issue) { return CauseOf(issue) == issues::kStepsPerSecond; }

// The subject and the cause; the numbers in the text may change.
std::string KeyOf(const v1::Issue& issue) {
  std::string key = CauseOf(issue);
  for (const uint32_t node : issue.nodes()) key += " node " + std::to_string(node);
  for (const uint32_t rank : issue.ranks()) key += " rank " + std::to_string(rank);
  return key;
}

bool IsAbout(const v1::Issue& issue, uint32_t rank) {
  return std::ranges::find(issue.ranks(), rank) != issue.ranks().end();
}

bool HasLasted(const v1::JobSnapshot& snapshot, const v1::Issue& issue,
               std::chrono::milliseconds time) {
  return snapshot.time_ms() - issue.since_ms() >= time.count();
}

std::string WithTime(const v1::Issue& issue) {
  if (CauseOf(issue) == issues::kStepTime) return issue.what();  // includes the time
  return issue.what() + " since " + base::LocalTime("%H:%M", issue.since_ms() / 1000);
}

// For a rank that was just named: "its GPU is throttled".
std::string WithoutName(const v1::JobSnapshot& snapshot, const v1::Issue& issue) {
  const std::string& what = issue.what();
  for (const uint32_t rank : issue.ranks()) {
    const std::string name = snapshot::RankName(snapshot, rank) + " is slow: ";
    if (what.starts_with(name)) return what.substr(name.size());
  }
  return what;
}

using std::chrono::milliseconds;

constexpr milliseconds kPointInterval{2'000};
constexpr milliseconds kPointOfEachNode{4};    // min, for a job with many nodes
constexpr milliseconds kPrintInterval{1'000};  // of progress as JSON
constexpr double kMaxStepMs = 86'400'000;
constexpr milliseconds kWriteInterval{60'000};  // so that files exist if the chief is killed

}  // namespace

std::vector<IssueWarning> IssueWarnings::Take(const v1::JobSnapshot& snapshot) {
  std::vector<IssueWarning> warnings;
  if (snapshot.job().phase() != v1::JOB_PHASE_RUNNING) return warnings;
  for (const v1::Issue& slow : snapshot.issues()) {
    if (lines_ == kMaxLines)
      return warnings;  // skips the search for causes with thousands of ranks
    if (!IsReported(slow) || !IsOfSteps(slow) || slow.ranks_size() == 0) continue;
    if (!HasLasted(snapshot, slow, issues::kWarnOfSlowStepsAfter) ||
        !reported_.insert(KeyOf(slow)).second)
      continue;
    std::string what = WithTime(slow);
    for (const v1::Issue& cause : snapshot.issues()) {
      if (!IsReported(cause) || IsOfSteps(cause) || !IsAbout(cause, slow.ranks(0))) continue;
      what += "; " + WithoutName(snapshot, cause);
      reported_.insert(KeyOf(cause));
    }
    Add(snapshot, slow, std::move(what), warnings);
  }
  for (const v1::Issue& issue : snapshot.issues()) {
    if (!IsReported(issue) || IsOfSteps(issue) || !HasLasted(snapshot, issue, issues::kWarnAfter))
      continue;
    if (reported_.insert(KeyOf(issue)).second) Add(snapshot, issue, WithTime(issue), warnings);
  }
  return warnings;
}

void IssueWarnings::Add(const v1::JobSnapshot& snapshot, const v1::Issue& issue, std::string what,
                        std::vector<IssueWarning>& warnings) {
  if (lines_ == kMaxLines) return;
  if (++lines_ == kMaxLines) what += "; no more such warnings are shown, see `autodist top`";
  const bool has_node =
      issue.nodes_size() > 0 && issue.nodes(0) < static_cast<uint32_t>(snapshot.nodes_size());
  warnings.push_back(
      {has_node ? snapshot.nodes(static_cast<int>(issue.nodes(0))).address() : std::string(),
       std::move(what)});
}

JobHistory::JobHistory(const JobOptions& options, uint32_t nodes, Loop& loop,
                       SnapshotBuilder& snapshot, Warn warn)
    : options_(options),
      loop_(loop),
      snapshot_(snapshot),
      warn_(std::move(warn)),
      point_interval_(std::max<milliseconds>(kPointInterval, nodes * kPointOfEachNode)) {}

void JobHistory::BeginAttempt() {
  warnings_.Begin();
  step_time_.reset();
  if (point_at_ != Loop::Time::max()) return;
  last_point_ = loop_.Now();
  point_at_ = last_point_ + point_interval_;
  write_at_ = last_point_ + kWriteInterval;
  if (options_.print_json) print_at_ = last_point_ + kPrintInterval;
}

Loop::Time JobHistory::Tick(const Attempt& attempt) {
  const Loop::Time now = loop_.Now();
  if (now >= point_at_) {
    AddPoint(attempt);
    point_at_ = now + snapshot_.Affordable(point_interval_);
  }
  if (now >= print_at_) {
    print_at_ = now + snapshot_.Affordable(kPrintInterval);
    PrintProgress(*snapshot_.Now(attempt));
  }
  if (now >= write_at_) {
    write_at_ = now + kWriteInterval;
    Write(attempt);
  }
  return std::min({point_at_, write_at_, print_at_});
}

void JobHistory::AddPoint(const Attempt& attempt) {
  const auto width = std::chrono::duration_cast<milliseconds>(loop_.Now() - last_point_);
  last_point_ += width;
  const SnapshotBuilder::Snapshot snapshot = snapshot_.Now(attempt);
  history_.Add(snapshot::PointOf(*snapshot, width.count()));
  if (snapshot->has_median_step()) {
    const double step_ms = 1000 * snapshot->median_step();
    step_time_ = milliseconds(static_cast<int64_t>(std::min(step_ms, kMaxStepMs)));
  }
  for (const IssueWarning& warning : warnings_.Take(*snapshot)) warn_(warning);
}

void JobHistory::PrintProgress(const v1::JobSnapshot& snapshot) {
  const v1::Progress& progress = snapshot.progress();
  if (!progress.has_step() || printed_step_ == progress.step()) return;
  printed_step_ = progress.step();
  options_.print_json(TypedJson("progress", progress));
}

void JobHistory::Write(const Attempt& attempt) {
  loop_.InBackground([this, snapshot = snapshot_.Now(attempt), history = history_.Since(0)] {
    WriteJson(*snapshot, control::kSnapshotFile);
    WriteJson(history, control::kHistoryFile);
  });
}

void JobHistory::WriteJson(const google::protobuf::Message& message, const std::string& name) {
  const Status written = options_.log_folder.WriteFile(name, json::JsonText(message) + "\n");
  if (!written.ok()) warnings_of_files_.Warn(Message(written));
}

void JobHistory::End(const Attempt& attempt) {
  point_at_ = write_at_ = print_at_ = Loop::Time::max();
  Write(attempt);
}

}  // namespace autodist::chief
