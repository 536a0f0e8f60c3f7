#include "chief/snapshot/job_history.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "chief/snapshot/job_status_recorder.h"
#include "control/snapshot_client.h"
#include "json/proto_json.h"
#include "snapshot/history_point.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPointInterval{2'000};
constexpr milliseconds kPointOfEachNode{4};    // min, for a job with many nodes
constexpr milliseconds kPrintInterval{1'000};  // of progress as JSON
constexpr double kMaxStepMs = 86'400'000;
constexpr milliseconds kWriteInterval{60'000};  // so that files exist if the chief is killed

void WriteJson(const google::protobuf::Message& message, const base::LogFolder& folder,
               const std::string& name) {
  const Status written = folder.WriteFile(name, json::JsonText(message) + "\n");
  if (!written.ok()) base::Log(base::LogLevel::kWarning, Message(written));
}

}  // namespace

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
  const uint64_t step = snapshot.progress().step();
  if (std::exchange(printed_step_, step) == step) return;
  options_.print_json(TypedJson("progress", snapshot.progress()));
}

void JobHistory::Write(const Attempt& attempt) {
  loop_.InBackground([snapshot = snapshot_.Now(attempt), history = history_.Since(0),
                      folder = options_.log_folder] {
    WriteJson(*snapshot, folder, control::kSnapshotFile);
    WriteJson(history, folder, control::kHistoryFile);
  });
}

void JobHistory::End(const Attempt& attempt) {
  point_at_ = write_at_ = print_at_ = Loop::Time::max();
  Write(attempt);
}

}  // namespace autodist::chief
