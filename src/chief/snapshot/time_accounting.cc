#include "chief/snapshot/time_accounting.h"

#include <filesystem>
#include <utility>

#include "base/wall_clock.h"

namespace autodist::chief {
namespace {

constexpr std::chrono::milliseconds kLastCheckpointLimit{1'000};

}  // namespace

TimeAccounting::TimeAccounting(const std::string& checkpoints, Loop& loop, const Fleet& nodes)
    : loop_(loop), nodes_(nodes), began_(loop.Now()), accounting_(0) {
  if (checkpoints.empty()) return;
  checkpoints_.emplace(std::filesystem::absolute(checkpoints).string(), loop_);
  loop_.AddTimer([this] { return Update(); });
}

int64_t TimeAccounting::Elapsed(Loop::Time at) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at - began_).count();
}

void TimeAccounting::Stops(bool failed, Loop::Time::duration notice) {
  const int64_t now = Elapsed(loop_.Now());
  accounting_.Stops(now, failed);
  recoveries_.Stops(now, std::chrono::duration_cast<std::chrono::milliseconds>(notice).count());
}

void TimeAccounting::BeginAttempt() {
  looks_ = checkpoints_.has_value();
  recoveries_.Begins(Elapsed(loop_.Now()));
}

void TimeAccounting::Runs() {
  accounting_.Runs(Elapsed(loop_.Now()));
  recoveries_.Runs(Elapsed(loop_.Now()));
}

void TimeAccounting::FirstStep(Loop::Time at) {
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
