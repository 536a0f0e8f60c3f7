// Replaces what decides nothing in a job, because it costs most of a walk: the thread that writes
// to the terminal, log files, the record of the job, its snapshots and its history.
#include "walks/left_out.h"

#include "chief/output/console.h"
#include "chief/output/rank_logs.h"
#include "chief/snapshot/job_history.h"
#include "chief/snapshot/job_status_recorder.h"
#include "chief/snapshot/snapshot_builder.h"

namespace autodist::chief {

Console::Console(Written written) : written_(std::move(written)), thread_() {}
void Console::Write(std::shared_ptr<RankLogs>, uint32_t, v1::Output) {}
void Console::EndLines(std::shared_ptr<RankLogs>) {}
void Console::ShowErrorsOf(std::shared_ptr<RankLogs>, uint32_t) {}
void Console::Print(std::string) {}
void Console::Log(base::LogLevel, std::string text) { walks::Note(text); }
void Console::Clear() {}
bool Console::Busy() const { return false; }
void Console::Finish() {}

RankLogs::RankLogs(const v1::LaunchPlan&, const base::LogFolder& folder, const display::View& view)
    : folder_(folder),
      lines_(
          {}, view, folder.path(), [](auto...) {}, [](auto...) {}) {}
Result<std::shared_ptr<RankLogs>> RankLogs::Create(const v1::LaunchPlan& plan,
                                                   const base::LogFolder& folder,
                                                   const display::View& view,
                                                   const std::optional<progress::Pattern>&) {
  static const std::shared_ptr<RankLogs> of_all(new RankLogs(plan, folder, view));
  return of_all;
}
std::vector<std::string> FailureExcerpt::Lines(display::Stream) const { return {}; }
std::string FailureExcerpt::LastLine() const { return ""; }
const FatalMessage* FailureExcerpt::fatal() const { return nullptr; }
std::optional<uint32_t> FailureExcerpt::LinesSinceFatal(display::Stream) const {
  return std::nullopt;
}
const EnqueuedCollectives* FailureExcerpt::enqueued() const { return nullptr; }
bool IsRequestedOutput(std::string_view) { return false; }
FailureExcerpt RankLogs::ExcerptOf(uint32_t) const { return FailureExcerpt({}); }
std::vector<RankFailure> RankLogs::Failures() const { return {}; }
std::vector<std::string> RankLogs::warnings() const { return {}; }
RankLogs::Kept RankLogs::WhatIsKept(uint32_t) const { return Kept::kAll; }
RankReport RankLogs::LastReport(uint32_t) const { return {}; }
void RankLogs::TakeProgressLine(uint32_t, std::string_view, Time) {}

JobStatusRecorder::JobStatusRecorder(const v1::LaunchPlan& plan, const JobOptions& options,
                                     Loop& loop)
    : job_(plan), log_folder_(options.log_folder), options_(options), loop_(loop) {}
void JobStatusRecorder::EnterPhase(v1::JobPhase phase, const std::string&) {
  status_.set_phase(phase);
}
void JobStatusRecorder::BeginAttempt(const Attempt&) {}
void JobStatusRecorder::Record(v1::JobEvent) {}
void JobStatusRecorder::Record(const std::string&, const std::string&) {}
void JobStatusRecorder::Publish(const Fleet&, const Attempt&) {}

void SnapshotBuilder::Launches(uint32_t) {}
void SnapshotBuilder::BeginAttempt() {}
void SnapshotBuilder::Stops(const Attempt&) {}
void SnapshotBuilder::NodesChanged() {}
void SnapshotBuilder::RanksHang(std::optional<Loop::Time>) {}
void SnapshotBuilder::Take(const v1::AgentEvent&, const Attempt&) {}
void SnapshotBuilder::SetStandstillCause(std::optional<v1::Issue>) {}
SnapshotBuilder::Snapshot SnapshotBuilder::Now(const Attempt&) {
  return std::make_shared<const v1::JobSnapshot>();
}
void SnapshotBuilder::TakeSample(uint32_t, v1::NodeSample) {}

JobHistory::JobHistory(const JobOptions& options, uint32_t, Loop& loop, SnapshotBuilder& snapshot,
                       Warn warn)
    : options_(options),
      loop_(loop),
      snapshot_(snapshot),
      warn_(std::move(warn)),
      point_interval_(0) {}
void JobHistory::BeginAttempt() {}
Loop::Time JobHistory::Tick(const Attempt&) { return Loop::Time::max(); }

}  // namespace autodist::chief
