#include "top/job_poller.h"

#include <algorithm>
#include <utility>

#include "control/jobs.h"
#include "snapshot/derived.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr size_t kMaxLineLength = 4096;  // bytes; wider than any window

TextLine LineOf(std::string_view text, display::Stream stream) {
  return {std::string(text.substr(0, kMaxLineLength)), stream == display::kStderr};
}

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kHistoryInterval{2};
constexpr std::chrono::seconds kGoneInterval{3};
// The chief thins old points meanwhile, so the whole history is fetched again.
constexpr std::chrono::minutes kWholeHistoryInterval{5};

}  // namespace

LogTail::LogTail(std::string folder, uint32_t rank)
    : folder_(std::move(folder)),
      rank_(rank),
      reader_(folder_, [rank](uint32_t other, display::Stream) { return other == rank; }) {
  reader_.SkipToLastLines(kTailLines);
}

bool LogTail::ReadNew() {
  bool any = false;
  const auto now = std::chrono::steady_clock::now();
  reader_.ReadAll([&](const display::Output& output, bool) {
    display::LineReader& stream = streams_[output.stream];
    if (output.offset) stream.SkipTo(*output.offset);
    any = any || !output.bytes.empty();
    stream.Take(output.bytes, false, now, [&](const display::Line& line) {
      lines_.push_back(LineOf(line.text, output.stream));
    });
    // Trims rarely, not for each new line.
    if (lines_.size() > 2 * kTailLines) {
      lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(kTailLines));
    }
  });
  return any;
}

std::shared_ptr<const TextLines> LogTail::lines() const {
  const size_t shown = std::min(lines_.size(), kTailLines);
  auto all =
      std::make_shared<TextLines>(lines_.end() - static_cast<std::ptrdiff_t>(shown), lines_.end());
  for (const display::Stream stream : {display::kStdout, display::kStderr}) {
    for (const std::string_view bar : streams_[stream].Bars()) {
      all->push_back(LineOf(bar, stream));
    }
  }
  return all;
}

JobPoller::JobPoller(std::string job_id, std::chrono::milliseconds interval,
                     std::function<void()> changed)
    : job_id_(std::move(job_id)),
      interval_(interval),
      changed_(std::move(changed)),
      reader_(job_id_) {}

JobPoller::~JobPoller() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    woken_.notify_one();
  }
  thread_.join();
}

SnapshotUpdate JobPoller::Get() const {
  const std::lock_guard lock(mutex_);
  return update_;
}

void JobPoller::Follow(std::optional<uint32_t> rank) {
  const std::lock_guard lock(mutex_);
  followed_ = rank;
  update_.log = nullptr;
  asked_ = true;
  woken_.notify_one();
}

// The job has ended or its autodist is gone, so nothing changes until that is back.
bool JobPoller::IsOver() const {
  const std::lock_guard lock(mutex_);
  return update_.snapshot && !Runs(update_.snapshot->job());
}

// For a job that is over and has no saved snapshot, uses the last one seen.
Result<std::shared_ptr<const v1::JobSnapshot>> JobPoller::AskForSnapshot() {
  auto snapshot = reader_.Snapshot();
  const auto last = Get().snapshot;
  if (snapshot.ok() || !last) return snapshot;
  const auto job = control::LookUpJob(job_id_);
  if (!job.ok() || Runs(*job)) return snapshot;
  auto over = std::make_shared<v1::JobSnapshot>(*last);
  snapshot::SetStatus(*job, *over);
  return over;
}

// An autodist that was suspended, or whose socket was removed, may return.
bool JobPoller::MayChange() {
  if (!IsOver()) return true;
  const auto now = SteadyClock::now();
  if (Get().snapshot->job().phase() == v1::JOB_PHASE_ENDED || now < gone_due_) return false;
  gone_due_ = now + kGoneInterval;
  const auto job = control::LookUpJob(job_id_);
  return job.ok() && !job->chief_gone();
}

bool JobPoller::ReadSnapshot() {
  if (!MayChange()) return false;
  auto snapshot = AskForSnapshot();
  const std::lock_guard lock(mutex_);
  if (!snapshot.ok()) {
    const bool changed = update_.issue.ok();
    update_.issue = snapshot.status();
    return changed;
  }
  const bool changed = !update_.issue.ok() || update_.snapshot != *snapshot;
  update_.snapshot = *std::move(snapshot);
  update_.issue = OkStatus();
  update_.answered = SteadyClock::now();
  return changed;
}

bool JobPoller::ReadHistory() {
  const auto now = SteadyClock::now();
  if (now < history_due_ || (IsOver() && history_due_ != SteadyClock::time_point{})) return false;
  history_due_ = now + kHistoryInterval;
  std::shared_ptr<const v1::History> before;
  if (now < whole_history_due_) before = Get().history;
  const bool some = before && before->points_size() > 0;
  auto history = reader_.History(some ? before->points().rbegin()->time_ms() : 0);
  if (!history.ok()) return false;
  if (some && history->points().empty()) return false;
  if (!some) whole_history_due_ = now + kWholeHistoryInterval;
  auto all = std::make_shared<v1::History>(some ? *before : v1::History());
  all->MergeFrom(*history);
  const std::lock_guard lock(mutex_);
  update_.history = std::move(all);
  return true;
}

bool JobPoller::ReadLog(std::optional<uint32_t> rank) {
  if (!rank) {
    tail_.reset();
    return false;
  }
  const auto snapshot = Get().snapshot;
  if (!snapshot || snapshot->job().attempt_folder().empty()) return false;
  const std::string& folder = snapshot->job().attempt_folder();
  const bool another = !tail_ || tail_->rank() != *rank || tail_->folder() != folder;
  if (another) tail_ = std::make_unique<LogTail>(folder, *rank);
  if (!tail_->ReadNew() && !another && Get().log) return false;
  auto lines = tail_->lines();
  const std::lock_guard lock(mutex_);
  if (followed_ == rank) update_.log = std::move(lines);
  return true;
}

void JobPoller::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    asked_ = false;
    const std::optional<uint32_t> rank = followed_;
    lock.unlock();
    bool changed = ReadLog(rank);
    changed = ReadSnapshot() || changed;
    changed = ReadHistory() || changed;
    if (changed) changed_();
    lock.lock();
    woken_.wait_for(lock, interval_, [this] { return stop_ || asked_; });
  }
}

}  // namespace autodist::top
