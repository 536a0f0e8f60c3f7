#include "progress/step_count.h"

#include <algorithm>

namespace autodist::progress {
namespace {

constexpr uint64_t kMostSteps = 1'000'000'000'000'000;

// Never more than can be.
uint64_t Product(uint64_t a, uint64_t b) {
  return a != 0 && b > kMostSteps / a ? kMostSteps : a * b;
}

}  // namespace

StepCount::StepCount(const Told& told) {
  BeginAnew(told);
  // It may have been resumed from a checkpoint.
  if (in_epoch_ && epoch_ && *epoch_ > first_epoch_ && total_) {
    offset_ = Product(*epoch_ - first_epoch_, *total_);
    repeated_ = true;
  }
}

void StepCount::BeginAnew(const Told& told) {
  step_ = told.step.value_or(0);
  total_ = told.total;
  offset_ = 0;
  repeated_ = false;
  epoch_ = told.epoch;
  epochs_ = told.epochs;
  last_epoch_ = told.last_epoch;
  in_epoch_ = told.in_epoch;
  // The first number that people give an epoch is 0 or 1; Lightning's bars begin with 0.
  const uint64_t first = told.epochs || epoch_ == 1 || told.source != Source::kBar ? 1 : 0;
  first_epoch_ = last_epoch_ ? 0 : std::min(epoch_.value_or(0), first);
}

StepCount::Change StepCount::Take(const Told& told) {
  if (told.may_go_on && in_epoch_ && epoch_ && told.epoch > epoch_ && told.step > step_) {
    in_epoch_ = false;  // the count goes on over the epochs
    offset_ = 0;
  }
  const Change change = in_epoch_ && epoch_ && told.epoch && *told.epoch != *epoch_
                            ? TakeEpoch(told)
                            : TakeStep(told);
  if (change == Change::kNone) return change;
  if (told.epochs) epochs_ = told.epochs;
  if (told.total) total_ = told.total;
  return change;
}

// Another epoch than before.
StepCount::Change StepCount::TakeEpoch(const Told& told) {
  if (*told.epoch < *epoch_) {
    // The last word of an epoch may come after the first one of the next.
    if (*told.epoch + 1 == *epoch_ && told.step && told.step == told.total) return Change::kNone;
    BeginAnew(told);
    return Change::kAnew;
  }
  const uint64_t epochs = *told.epoch - *epoch_;
  offset_ = std::min(kMostSteps, offset_ + Product(epochs, total_.value_or(step_)));
  repeated_ = true;
  epoch_ = told.epoch;
  step_ = told.step.value_or(0);
  return Change::kNextEpoch;
}

StepCount::Change StepCount::TakeStep(const Told& told) {
  const uint64_t step = told.step.value_or(step_);
  if (step >= step_) {
    step_ = step;
    fallen_.reset();
    if (told.epoch) epoch_ = told.epoch;
    return Change::kOn;
  }
  if (told.epoch && epoch_ && *told.epoch > *epoch_) {
    in_epoch_ = true;
    return TakeEpoch(told);
  }
  // Lightning empties its bar before it gives it the next epoch's name.
  if (told.source == Source::kBar && epoch_ && told.epoch == epoch_ && step == 0 && finished()) {
    return Change::kNone;
  }
  if (told.source == Source::kBar && !finished() && !BeginsAgain(step)) return Change::kNone;
  if (told.source != Source::kBar || epoch_) {
    BeginAnew(told);
    return Change::kAnew;
  }
  // A bar is drawn from its beginning again, and may not have been seen at its end.
  offset_ = std::min(kMostSteps, offset_ + (total_ && step_ >= *total_ / 2 ? *total_ : step_));
  repeated_ = true;
  step_ = step;
  return Change::kOn;
}

// An old version of a bar may come late, as the line that it has become: say, because another
// message stands behind it. Only a bar that goes on from there has begun again.
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
