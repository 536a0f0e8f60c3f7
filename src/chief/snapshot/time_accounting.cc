#include "chief/snapshot/time_accounting.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/deadline.h"
#include "base/wall_clock.h"

namespace autodist::chief {
namespace {

namespace fs = std::filesystem;

std::string AbsoluteFolder(const std::string& folder) {
  std::string path = fs::absolute(folder).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

constexpr std::chrono::milliseconds kLastCheckpointLimit{1'000};
constexpr int kMaxCheckpointEntries = 100'000;

}  // namespace

// Outlives the watch if a scan does.
struct CheckpointWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;                       // guarded by mutex, as is the next
  std::optional<files::DatedFile> newest;  // the result of NewestFile
  base::Deadline::Clock::duration took{};
};

CheckpointWatch::CheckpointWatch(std::string folder, Loop& loop, std::vector<std::string> left_out)
    : folder_(std::move(folder)),
      left_out_(std::move(left_out)),
      loop_(loop),
      shared_(std::make_shared<Shared>()) {}

void CheckpointWatch::Update() {
  again_ = std::exchange(looking_, true);
  if (again_) return;
  began_ = loop_.Now();
  const auto look = [shared = shared_, folder = folder_, left_out = left_out_,
                     begin = base::Deadline::Clock::now()] {
    const std::optional<files::DatedFile> newest =
        files::NewestFile(folder, left_out, kMaxCheckpointEntries);
    const std::lock_guard lock(shared->mutex);
    shared->done = true;
    shared->newest = newest;
    shared->took = base::Deadline::Clock::now() - begin;
    shared->changed.notify_one();
  };
  if (loop_.RunDetached(look).ok()) return;
  looking_ = false;
  due_ = loop_.Now() + kInterval;
}

std::optional<CheckpointWatch::Seen> CheckpointWatch::Take() {
  return Await(std::chrono::milliseconds(0));
}

std::optional<CheckpointWatch::Seen> CheckpointWatch::Await(std::chrono::milliseconds limit) {
  if (!looking_) return std::nullopt;
  std::optional<files::DatedFile> newest;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, limit, [this] { return shared_->done; });
    if (!std::exchange(shared_->done, false)) return std::nullopt;
    newest = shared_->newest;
    due_ = std::max(began_ + kInterval, loop_.Now() + kShare * shared_->took);
  }
  const Loop::Time began = began_;
  looking_ = false;
  if (again_) Update();
  if (!newest) return std::nullopt;
  if (newest->written_ns > newest_.written_ns) {
    newest_ = *newest;
    const std::chrono::nanoseconds ago(base::NanosecondsSince1970() - newest_.written_ns);
    const Loop::Time now = loop_.Now();
    written_ = std::min(now - std::chrono::duration_cast<Loop::Time::duration>(ago), now);
    // A file server's clock may differ: the file did not exist during the previous scan.
    if (seen_) written_ = std::max(written_, looked_);
  }
  seen_ = true;
  looked_ = began;
  return newest_.written_ns > 0 ? Seen{written_, newest_} : Seen{};
}

TimeAccounting::TimeAccounting(const std::string& checkpoints, const std::vector<std::string>& logs,
                               Loop& loop, const Fleet& nodes)
    : loop_(loop), nodes_(nodes), began_(loop.Now()), accounting_(0) {
  if (checkpoints.empty()) return;
  std::vector<std::string> left_out;
  for (const std::string& folder : logs) {
    if (!folder.empty()) left_out.push_back(AbsoluteFolder(folder));
  }
  checkpoints_.emplace(AbsoluteFolder(checkpoints), loop_, std::move(left_out));
  loop_.AddTimer([this] { return Update(); });
}

int64_t TimeAccounting::Elapsed(Loop::Time at) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at - began_).count();
}

void TimeAccounting::Stops(bool failed, Loop::Time::duration notice) {
  const int64_t now = Elapsed(loop_.Now());
  starting_ = false;
  accounting_.Stops(now, failed);
  recoveries_.Stops(now, std::chrono::duration_cast<std::chrono::milliseconds>(notice).count());
}

void TimeAccounting::BeginAttempt() {
  looks_ = checkpoints_.has_value();
  starting_ = true;
  recoveries_.Begins(Elapsed(loop_.Now()));
}

void TimeAccounting::Runs(Loop::Time at) {
  if (!std::exchange(starting_, false)) return;
  accounting_.Runs(Elapsed(at));
  recoveries_.Runs(Elapsed(at));
}

// The report of a node that its ranks run may come later, or never.
void TimeAccounting::FirstStep(Loop::Time at) {
  Runs(at);
  accounting_.FirstStep(Elapsed(at));
  recoveries_.FirstStep(Elapsed(at));
}

void TimeAccounting::Launches(uint32_t attempt) {
  const int64_t now = Elapsed(loop_.Now());
  accounting_.Launches(now);
  recoveries_.Launches(now, attempt, base::MillisecondsSince1970());
  if (checkpoints_) checkpoints_->Update();  // including those written when ranks were asked to end
}

bool TimeAccounting::RanksHang(std::optional<Loop::Time> since) {
  if (std::exchange(hung_since_, since) == since) return false;
  BookStalls();
  return true;
}

std::optional<std::chrono::milliseconds> TimeAccounting::hung_for() const {
  if (!hung_since_) return std::nullopt;
  return std::chrono::milliseconds(Elapsed(loop_.Now()) - Elapsed(*hung_since_));
}

bool TimeAccounting::MakesNoStep(std::optional<std::chrono::milliseconds> time) {
  const bool was = no_step_since_.has_value();
  no_step_since_.reset();
  if (time) no_step_since_ = Elapsed(loop_.Now()) - time->count();
  BookStalls();
  return was != no_step_since_.has_value();
}

void TimeAccounting::BookStalls() {
  if (hung_since_) return accounting_.Stalls(Elapsed(*hung_since_), true);
  if (no_step_since_) return accounting_.Stalls(*no_step_since_, true);
  accounting_.Stalls(Elapsed(loop_.Now()), nodes_.AnyMemberDisconnected());
}

// Returns when to call it again.
Loop::Time TimeAccounting::Update() {
  if (!looks_) return Loop::Time::max();
  if (loop_.Now() >= checkpoints_->due()) checkpoints_->Update();
  BookCheckpoint(checkpoints_->Take());
  return checkpoints_->due();
}

void TimeAccounting::BookCheckpoint(const std::optional<CheckpointWatch::Seen>& seen) {
  if (!seen) return;
  checkpoint_ = seen->written;
  newest_file_ = seen->file;
  accounting_.Looked(seen->written ? std::optional(Elapsed(*seen->written)) : std::nullopt);
}

void TimeAccounting::End() {
  accounting_.Ends(Elapsed(loop_.Now()));
  looks_ = false;
  LookForCheckpoints();
}

void TimeAccounting::LookForCheckpoints() {
  if (!checkpoints_) return;
  BookCheckpoint(checkpoints_->Await(kLastCheckpointLimit));  // the running scan
  checkpoints_->Update();
  BookCheckpoint(checkpoints_->Await(kLastCheckpointLimit));
}

}  // namespace autodist::chief
