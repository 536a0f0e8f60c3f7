#include "chief/output/rank_logs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/log.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "chief/output/python_traceback.h"
#include "progress/arguments.h"

namespace autodist::chief {
namespace {

// Returns the line as a terminal finally shows it.
std::string_view AsShown(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const void* replaced = memrchr(line.data(), '\r', line.size());
  if (!replaced) return line;
  return line.substr(static_cast<size_t>(static_cast<const char*>(replaced) - line.data()) + 1);
}

constexpr std::string_view kRecords = "ProcessGroupNCCL preparing to dump debug info";

// Limits open files: a large job has more files than a process may open.
constexpr size_t kMaxOpen = 500;

display::Stream StreamOf(const v1::Output& output) {
  return output.stream() == v1::OUTPUT_STREAM_STDERR ? display::kStderr : display::kStdout;
}

uint64_t SizeOf(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

int64_t MillisecondsOf(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// Reuses the memory of `kept`.
void AssignTruncated(std::string_view line, std::string& kept) {
  if (line.size() <= FailureExcerpt::kMaxLineLength) {
    kept.assign(line);
  } else {
    kept = base::Truncated(line, FailureExcerpt::kMaxLineLength);
  }
}

// Ignores blank lines and colours.
void KeepLine(std::string_view line, std::string& last) {
  std::string buffer;
  line = WithoutColours(line, buffer);
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  AssignTruncated(line, last);
}

}  // namespace

void FailureExcerpt::Take(display::Stream stream, std::string_view line, display::Time now) {
  std::string plain;
  const std::string_view shown = WithoutColours(AsShown(line), plain);
  fatal_[stream].Take(shown, now);
  if (shown.find_first_not_of(" \t") == std::string_view::npos) return;
  Ring& ring = rings_[stream];
  AssignTruncated(shown, ring.lines[ring.taken++ % kMaxLines]);
  last_ = stream;
}

std::vector<std::string> FailureExcerpt::Lines(display::Stream stream) const {
  const Ring& ring = rings_[stream];
  std::vector<std::string> lines;
  for (size_t i = ring.taken - std::min(ring.taken, kMaxLines); i < ring.taken; ++i) {
    lines.push_back(ring.lines[i % kMaxLines]);
  }
  return lines;
}

std::string FailureExcerpt::LastLine() const {
  const Ring& ring = rings_[last_];
  return ring.taken == 0 ? "" : ring.lines[(ring.taken - 1) % kMaxLines];
}

const FatalMessages* FailureExcerpt::Fatal() const {
  const auto& err = fatal_[display::kStderr].last();
  const auto& out = fatal_[display::kStdout].last();
  if (err && (!out || err->weight >= out->weight)) return &fatal_[display::kStderr];
  return out ? &fatal_[display::kStdout] : nullptr;
}

const FatalMessage* FailureExcerpt::fatal() const {
  const FatalMessages* messages = Fatal();
  return messages ? &*messages->last() : nullptr;
}

std::optional<uint32_t> FailureExcerpt::LinesSinceFatal(display::Stream stream) const {
  const FatalMessages* messages = Fatal();
  if (messages != &fatal_[stream]) return std::nullopt;
  return messages->lines_since();
}

const EnqueuedCollectives* FailureExcerpt::enqueued() const {
  for (const display::Stream stream : {display::kStderr, display::kStdout}) {
    if (const auto& last = fatal_[stream].enqueued()) return &*last;
  }
  return nullptr;
}

// The first line decides for nearly all output.
bool IsRequestedOutput(std::string_view output) {
  bool any = false;  // not for a line end alone
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    if (line.empty()) continue;
    if (line.find(kRecords) == std::string_view::npos) return false;
    any = true;
  }
  return any;
}

std::vector<display::Process> ProcessesOf(const v1::LaunchPlan& plan) {
  std::vector<display::Process> processes;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      processes.push_back({rank.rank(), rank.local_rank(), node.address(), rank.auxiliary()});
    }
  }
  return processes;
}

RankLogs::RankLogs(const v1::LaunchPlan& plan, const base::LogFolder& folder,
                   const display::View& view)
    : folder_(folder),
      lines_(
          ProcessesOf(plan), view, folder.path(),
          [this](uint32_t rank, display::Stream stream, std::string_view line) {
            Keep(rank, stream, line);
          },
          [this](uint32_t rank, display::Stream stream, std::string_view bar, bool half) {
            KeepBar(rank, stream, bar, half);
          }) {}

Result<std::shared_ptr<RankLogs>> RankLogs::Create(
    const v1::LaunchPlan& plan, const base::LogFolder& folder, const display::View& view,
    const std::optional<progress::Pattern>& pattern) {
  std::shared_ptr<RankLogs> logs(new RankLogs(plan, folder, view));
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      AD_ASSIGN_OR_RETURN(File out, logs->Create(rank.rank(), display::kStdout));
      AD_ASSIGN_OR_RETURN(File err, logs->Create(rank.rank(), display::kStderr));
      const auto epochs = progress::EpochsIn({rank.argv().begin(), rank.argv().end()});
      logs->ranks_.try_emplace(rank.rank(), Rank{{std::move(out), std::move(err)},
                                                 FailureExcerpt(plan.working_directory()),
                                                 progress::ProgressReader(pattern, epochs)});
    }
  }
  return logs;
}

Result<RankLogs::File> RankLogs::Create(uint32_t rank, display::Stream stream) const {
  const std::string name = display::LogName(rank, stream);
  const auto made = folder_.OpenFile(name, O_WRONLY | O_CREAT | O_TRUNC);
  AD_RETURN_IF_ERROR(Annotate(made.status(), "log file"));
  return File{logs::LogIndexWriter(folder_, name)};
}

Status RankLogs::Open(const display::Output& output, File& file) {
  if (file.fd.valid()) {
    open_.splice(open_.begin(), open_, file.place);
    return OkStatus();
  }
  if (open_.size() == kMaxOpen) {
    open_.back()->fd.Reset();
    open_.back()->times.Close();
    open_.pop_back();
  }
  const std::string name = display::LogName(output.rank, output.stream);
  AD_ASSIGN_OR_RETURN(file.fd, folder_.OpenFile(name, O_WRONLY | O_APPEND));
  file.place = open_.insert(open_.begin(), &file);
  return OkStatus();
}

void RankLogs::Take(const v1::Output& output, Time now, display::Screen& screen) {
  const auto found = ranks_.find(output.rank());
  if (found == ranks_.end()) return;
  const display::Output taken{output.rank(), StreamOf(output), output.data(),
                              std::chrono::system_clock::now()};
  now_ = now;
  File& file = found->second.files[taken.stream];
  WriteFile(taken, found->second);
  if (!IsRequestedOutput(taken.bytes)) {
    {
      const std::lock_guard lock(reports_mutex_);
      found->second.report.last_output_ms = MillisecondsOf(*taken.time);
      found->second.read_ms[taken.stream] = output.read_ms();
      ++report_version_;
    }
    lines_.Take(taken, !file.cut_short, now, screen);
  }
  if (output.lost() > 0) {
    lost_.insert(output.rank());
    Warn(base::Count(output.lost(), "byte") + " that rank " + std::to_string(output.rank()) +
         " wrote" + (output.lost() == 1 ? " is" : " are") + " lost: " + output.lost_because());
  }
}

void RankLogs::WriteFile(const display::Output& output, Rank& rank) {
  File& file = rank.files[output.stream];
  if (file.cut_short || output.bytes.empty()) return;
  Status written = Open(output, file);
  if (written.ok()) {
    file.times.Note(file.size, *output.time);
    written = base::WriteAll(file.fd.get(), output.bytes, base::Deadline::Never());
    file.size = written.ok() ? file.size + output.bytes.size() : SizeOf(file.fd.get());
  }
  if (written.ok()) return;
  file.cut_short = true;
  if (!cut_short_.insert(output.rank).second || cut_short_.size() > 1) return;
  if (written.code() == StatusCode::kResourceExhausted) {
    written = WithRemedy(written, "make room on the disk of " + folder_.path() +
                                      ", or keep logs elsewhere with --log-dir");
  }
  why_cut_short_ = Message(written);
  base::Log(base::LogLevel::kWarning,
            base::FailureText(Annotate(written, CutShortText({output.rank}))));
}

bool RankLogs::IsEmpty(uint32_t rank) const {
  const auto& files = ranks_.at(rank).files;
  return std::ranges::all_of(files, [](const File& file) { return file.size == 0; });
}

// "log of rank 1 is cut short", "logs of 2 ranks cannot be written".
std::string RankLogs::CutShortText(const std::set<uint32_t>& ranks) const {
  const bool empty =
      std::ranges::all_of(ranks, [this](const uint32_t rank) { return IsEmpty(rank); });
  const bool one = ranks.size() == 1;
  return (one ? "log of rank " + std::to_string(*ranks.begin())
              : "logs of " + base::Count(ranks.size(), "rank")) +
         (empty ? " cannot be written"
          : one ? " is cut short"
                : " are cut short");
}

std::vector<std::string> RankLogs::warnings() const {
  std::vector<std::string> all = warnings_;
  if (!cut_short_.empty()) all.push_back(CutShortText(cut_short_) + ": " + why_cut_short_);
  return all;
}

RankLogs::Kept RankLogs::WhatIsKept(uint32_t rank) const {
  for (const display::Stream stream : {display::kStdout, display::kStderr}) {
    std::error_code error;
    const std::filesystem::path folder = folder_.path();
    if (!std::filesystem::exists(folder / display::LogName(rank, stream), error)) {
      return Kept::kRemoved;
    }
  }
  if (!cut_short_.contains(rank) && !lost_.contains(rank)) return Kept::kAll;
  return IsEmpty(rank) ? Kept::kNothing : Kept::kPart;
}

void RankLogs::Keep(uint32_t number, display::Stream stream, std::string_view line) {
  const std::lock_guard lock(reports_mutex_);
  Rank& rank = ranks_.at(number);
  rank.failure_excerpt.Take(stream, line, now_);
  KeepLine(line, rank.report.last_line);
  KeepFailure(rank, stream);
  ReadProgress(rank, stream, line);
  ++report_version_;
}

// Keeps the failure while few lines follow it. Lines of the other stream say nothing of it, unless
// they are progress: a piece that arrived earlier may have been written later.
void RankLogs::KeepFailure(Rank& rank, display::Stream stream) {
  constexpr uint64_t kSameTimeMs = 10;
  RankReport& report = rank.report;
  const FatalMessage* fatal = rank.failure_excerpt.fatal();
  if (!fatal ||
      (fatal->weight < FatalMessage::Weight::kFatal && fatal->kind != FatalMessage::Kind::kShell)) {
    return;
  }
  const std::optional<uint32_t> since = rank.failure_excerpt.LinesSinceFatal(stream);
  if (since > kMaxLinesAtTheEnd) return report.failure.clear();
  if (since != 0) return;
  report.failure = fatal->text;
  report.failure_ms = report.last_output_ms;
  const auto& [other, read_ms] = rank.progressed;
  report.failure_in_doubt =
      other != stream && read_ms > 0 && read_ms + kSameTimeMs >= rank.read_ms[stream];
}

void RankLogs::KeepBar(uint32_t number, display::Stream stream, std::string_view bar, bool half) {
  const std::lock_guard lock(reports_mutex_);
  Rank& rank = ranks_.at(number);
  KeepLine(bar, rank.report.last_line);
  // A number at the end of an incomplete line may go on.
  if (!half) ReadProgress(rank, stream, bar);
  ++report_version_;
}

void RankLogs::KeepProgress(std::optional<v1::Progress> progress, RankReport& report) {
  if (!progress) return;
  if (progress->has_step() && first_step_.load() == Time::max()) first_step_ = Time::clock::now();
  report.failure.clear();  // it was survived
  report.progress = *std::move(progress);
  report.progress->set_time_ms(base::MillisecondsSince1970());
}

void RankLogs::ReadProgress(Rank& rank, display::Stream stream, std::string_view line) {
  auto progress = rank.reader.Take(line, now_);
  if (progress) rank.progressed = {stream, rank.read_ms[stream]};
  KeepProgress(std::move(progress), rank.report);
  if (rank.reader.WasOtherWork()) other_work_ms_ = base::MillisecondsSince1970();
}

void RankLogs::TakeProgressLine(uint32_t number, std::string_view line, Time now) {
  const auto found = ranks_.find(number);
  if (found == ranks_.end()) return;
  const std::lock_guard lock(reports_mutex_);
  KeepProgress(found->second.reader.TakeProgressLine(line, now), found->second.report);
  ++report_version_;
}

RankReport RankLogs::LastReport(uint32_t number) const {
  const auto found = ranks_.find(number);
  if (found == ranks_.end()) return {};
  const std::lock_guard lock(reports_mutex_);
  return found->second.report;
}

void RankLogs::Warn(const std::string& what) {
  base::Log(base::LogLevel::kWarning, what);
  warnings_.push_back(what);
}

std::vector<RankFailure> RankLogs::Failures() const {
  const std::lock_guard lock(reports_mutex_);
  std::vector<RankFailure> failures;
  for (const auto& [number, rank] : ranks_) {
    if (rank.report.failure.empty()) continue;
    failures.push_back({number, *rank.failure_excerpt.fatal()});
  }
  return failures;
}

FailureExcerpt RankLogs::ExcerptOf(uint32_t rank) const {
  const std::lock_guard lock(reports_mutex_);
  return ranks_.at(rank).failure_excerpt;
}

}  // namespace autodist::chief
