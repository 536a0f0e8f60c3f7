#include "progress/step_count.h"

#include <algorithm>

namespace autodist::progress {
namespace {

constexpr uint64_t kMaxSteps = 1'000'000'000'000'000;

// Saturates at kMaxSteps.
uint64_t Product(uint64_t a, uint64_t b) { return a != 0 && b > kMaxSteps / a ? kMaxSteps : a * b; }

}  // namespace

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

}  // namespace autodist::progress
