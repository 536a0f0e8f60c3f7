#include "progress/track.h"

#include <algorithm>

#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr std::chrono::milliseconds kFinest{100};  // between kept samples
constexpr size_t kMaxRecent = 64;
constexpr size_t kMaxOfCourse = 128;

constexpr uint64_t kMaxSteps = 1'000'000'000'000'000;

// Saturates at kMaxSteps.
uint64_t Product(uint64_t a, uint64_t b) { return a != 0 && b > kMaxSteps / a ? kMaxSteps : a * b; }

constexpr size_t kMaxKeyLength = 80;

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

StepCount::StepCount(const ProgressUpdate& update) {
  Restart(update);
  // The program may have resumed from a checkpoint.
  if (in_epoch_ && epoch_ && *epoch_ > first_epoch_ && total_) {
    offset_ = Product(*epoch_ - first_epoch_, *total_);
    repeated_ = true;
  }
}

void StepCount::Restart(const ProgressUpdate& update) {
  step_ = update.step.value_or(0);
  total_ = update.total;
  offset_ = 0;
  repeated_ = false;
  epoch_ = update.epoch;
  epochs_ = update.epochs;
  last_epoch_ = update.last_epoch;
  in_epoch_ = update.in_epoch;
  // Programs number the first epoch 0 or 1; Lightning's bars begin with 0.
  const uint64_t first = update.epochs || epoch_ == 1 || update.source != Source::kBar ? 1 : 0;
  first_epoch_ = last_epoch_ ? 0 : std::min(epoch_.value_or(0), first);
}

StepCount::Change StepCount::Take(const ProgressUpdate& update) {
  if (update.may_go_on && in_epoch_ && epoch_ && update.epoch > epoch_ && update.step > step_) {
    in_epoch_ = false;  // the count continues over the epochs
    offset_ = 0;
  }
  const Change change = in_epoch_ && epoch_ && update.epoch && *update.epoch != *epoch_
                            ? TakeEpoch(update)
                            : TakeStep(update);
  if (change == Change::kNone) return change;
  if (update.epochs) epochs_ = update.epochs;
  if (update.total) total_ = update.total;
  return change;
}

// Handles a change of epoch.
StepCount::Change StepCount::TakeEpoch(const ProgressUpdate& update) {
  if (*update.epoch < *epoch_) {
    // The last line of an epoch may follow the first line of the next.
    if (*update.epoch + 1 == *epoch_ && update.step && update.step == update.total)
      return Change::kNone;
    Restart(update);
    return Change::kRestarted;
  }
  const uint64_t epochs = *update.epoch - *epoch_;
  offset_ = std::min(kMaxSteps, offset_ + Product(epochs, total_.value_or(step_)));
  repeated_ = true;
  epoch_ = update.epoch;
  step_ = update.step.value_or(0);
  return Change::kNextEpoch;
}

StepCount::Change StepCount::TakeStep(const ProgressUpdate& update) {
  const uint64_t step = update.step.value_or(step_);
  if (step >= step_) {
    step_ = step;
    fallen_.reset();
    if (update.epoch) epoch_ = update.epoch;
    return Change::kOn;
  }
  if (update.epoch && epoch_ && *update.epoch > *epoch_) {
    in_epoch_ = true;
    return TakeEpoch(update);
  }
  // Lightning resets its bar before it names the next epoch.
  if (update.source == Source::kBar && epoch_ && update.epoch == epoch_ && step == 0 &&
      finished()) {
    return Change::kNone;
  }
  if (update.source == Source::kBar && !finished() && !BeginsAgain(step)) return Change::kNone;
  if (update.source != Source::kBar || epoch_) {
    Restart(update);
    return Change::kRestarted;
  }
  // A bar restarts from the beginning, and its end may not have been seen.
  offset_ = std::min(kMaxSteps, offset_ + (total_ && step_ >= *total_ / 2 ? *total_ : step_));
  repeated_ = true;
  step_ = step;
  return Change::kOn;
}

// An old version of a bar may arrive late, for example as a completed line that another message
// follows. Only a bar that advances from there has restarted.
bool StepCount::BeginsAgain(uint64_t step) {
  const bool goes_on = fallen_ && step > *fallen_;
  fallen_ = goes_on ? std::nullopt : std::optional(step);
  return goes_on;
}

std::optional<uint64_t> StepCount::TotalOver(std::optional<uint64_t> epochs,
                                             std::optional<uint64_t> said) const {
  if (!total_) return std::nullopt;
  if (epochs_ && in_epoch_ && epoch_) {
    const bool from_0_to_last = last_epoch_ || (first_epoch_ == 0 && *epoch_ >= *epochs_);
    epochs = *epochs_ + (from_0_to_last ? 1 : 0);
  }
  if (!epochs && said && in_epoch_ && epoch_ && *epoch_ - first_epoch_ < *said) epochs = said;
  if (epochs) return std::max(Product(*total_, *epochs), step());
  if (repeated_ || (in_epoch_ && epoch_)) return std::nullopt;
  return std::max(*total_, step());
}

std::string Track::KeyOf(const ProgressUpdate& update, Subject subject) {
  ProgressUpdate epoch;
  const std::string_view label = ReadEpoch(update.label, epoch);
  std::string key;
  bool digits = false;
  for (const char c : label.substr(0, kMaxKeyLength)) {
    const bool is_number = IsDigit(c) || (digits && c == '.');
    if (!is_number || !digits) key += is_number ? '#' : c;
    digits = is_number;
  }
  // Bars without a name are distinguished by their total.
  if (key.empty() && update.source == Source::kBar) key = std::to_string(update.total.value_or(0));
  key += '\n';
  key += update.unit.substr(0, kMaxKeyLength);
  key += static_cast<char>('0' + static_cast<int>(update.source));
  key += static_cast<char>('0' + static_cast<int>(subject));
  return key;
}

StepCount::Change Track::Take(const ProgressUpdate& update, size_t line, Time now) {
  using Change = StepCount::Change;
  if (line == line_ || line == ended_line_) return Change::kNone;
  const uint64_t before = steps_.step_in_epoch();
  const Change change = steps_.Take(update);
  if (change == Change::kNone) return change;
  if (change == Change::kNextEpoch || steps_.step_in_epoch() < before) ended_line_ = line_;
  line_ = line;
  last_ = now;
  return change;
}

void Track::Rename(std::string key, Subject subject) {
  key_ = std::move(key);
  subject_ = subject;
}

}  // namespace autodist::progress
