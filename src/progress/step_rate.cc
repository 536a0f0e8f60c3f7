#include "progress/step_rate.h"

#include <algorithm>

namespace autodist::progress {
namespace {

constexpr std::chrono::milliseconds kFinest{100};  // between kept samples
constexpr size_t kMaxRecent = 64;
constexpr size_t kMaxOfCourse = 128;

}  // namespace

std::optional<double> StepRate::Between(const Sample& first, const Sample& last) {
  const double seconds = std::chrono::duration<double>(last.time - first.time).count();
  if (seconds <= 0 || last.step <= first.step) return std::nullopt;
  return static_cast<double>(last.step - first.step) / seconds;
}

void StepRate::Begin() {
  recent_.clear();
  course_.clear();
  spacing_ = kFinest;
}

void StepRate::Add(uint64_t step, Time now) {
  last_ = {now, step};
  if (recent_.empty() || now - recent_.back().time >= kFinest) recent_.push_back(last_);
  while (recent_.size() > 2 &&
         (recent_.size() > kMaxRecent ||
          (now - recent_[1].time >= kWindow && step >= recent_[1].step + kWindowSteps))) {
    recent_.pop_front();
  }
  if (course_.empty() || now - course_.back().time >= spacing_) course_.push_back(last_);
  if (course_.size() < kMaxOfCourse) return;
  size_t kept = 0;
  for (size_t i = 0; i < course_.size(); i += 2) course_[kept++] = course_[i];
  course_.resize(kept);
  spacing_ = std::max(spacing_ * 2, Time::duration(kFinest));
}

std::optional<double> StepRate::now() const {
  if (recent_.empty()) return std::nullopt;
  return Between(recent_.front(), last_);
}

std::optional<double> StepRate::lasting() const {
  if (course_.empty()) return std::nullopt;
  const Time half = course_.front().time + (last_.time - course_.front().time) / 2;
  const auto after =
      std::ranges::upper_bound(course_, half, {}, [](const Sample& sample) { return sample.time; });
  return Between(after == course_.begin() ? course_.front() : *(after - 1), last_);
}

}  // namespace autodist::progress
