#include "snapshot/recovery_times.h"

#include <algorithm>
#include <utility>

#include "base/ranges.h"

namespace autodist::snapshot {

std::optional<int64_t> RecoveryTimes::End(Part part, int64_t now, Part next) {
  if (part_ != part) return std::nullopt;
  part_ = next;
  return std::max<int64_t>(now - std::exchange(since_, now), 0);
}

void RecoveryTimes::Stops(int64_t now, int64_t notice) {
  if (part_ == Part::kStopping) return;
  part_ = Part::kStopping;
  since_ = now;
  notice_ = notice;
}

void RecoveryTimes::Launches(int64_t now, uint32_t attempt, int64_t since_1970) {
  const auto stopping = End(Part::kStopping, now, Part::kPreparing);
  if (!stopping) return;
  if (last_.size() == kMost) last_.erase(last_.begin());
  v1::Recovery& recovery = last_.emplace_back();
  recovery.set_attempt(attempt);
  recovery.set_began_ms(since_1970 - *stopping - notice_);
  recovery.set_notice(notice_);
  recovery.set_stopping(*stopping);
}

void RecoveryTimes::Begins(int64_t now) {
  const auto time = End(Part::kPreparing, now, Part::kStarting);
  if (time) last_.back().set_preparing(*time);
}

void RecoveryTimes::Runs(int64_t now) {
  const auto time = End(Part::kStarting, now, Part::kFirstStep);
  if (time) last_.back().set_starting(*time);
}

void RecoveryTimes::FirstStep(int64_t now) {
  const auto time = End(Part::kFirstStep, now, Part::kNone);
  if (time) last_.back().set_first_step(*time);
}

std::vector<RecoveryPart> PartsOf(const v1::Recovery& recovery) {
  std::vector<RecoveryPart> parts{{"notice", recovery.notice()},
                                  {"stopping", recovery.stopping()},
                                  {"preparing", recovery.preparing()},
                                  {"starting", recovery.starting()},
                                  {"first step", recovery.first_step()}};
  std::erase_if(parts, [](const RecoveryPart& part) { return part.time <= 0; });
  return parts;
}

int64_t Total(const v1::Recovery& recovery) {
  int64_t total = 0;
  for (const RecoveryPart& part : PartsOf(recovery)) total += part.time;
  return total;
}

std::optional<int64_t> TimeToRecover(const v1::JobSnapshot& snapshot) {
  std::vector<double> times;
  for (const v1::Recovery& recovery : snapshot.recoveries()) {
    if (recovery.has_starting()) times.push_back(static_cast<double>(Total(recovery)));
  }
  if (times.empty()) return std::nullopt;
  return static_cast<int64_t>(base::Median(std::move(times)));
}

}  // namespace autodist::snapshot
