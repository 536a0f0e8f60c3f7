// How many steps a bar, or one kind of line, tells of.
#pragma once

#include <cstdint>
#include <optional>

#include "progress/progress_update.h"

namespace autodist::progress {

// Counts over the epochs in which steps begin anew. All that it is told is of one source. Not
// thread-safe.
class StepCount {
 public:
  explicit StepCount(const ProgressUpdate& update);

  enum class Change {
    kNone,  // the line tells nothing new, or is an old one that comes once more
    kOn,
    kNextEpoch,
    kAnew,  // it has begun from its beginning
  };
  Change Take(const ProgressUpdate& update);

  // Over all epochs.
  uint64_t step() const { return offset_ + step_; }
  // Likewise, where the number of epochs is known: told by the lines themselves, or by another bar;
  // or `said` at the program's start, which counts where the lines number the epochs accordingly.
  std::optional<uint64_t> TotalOver(std::optional<uint64_t> epochs,
                                    std::optional<uint64_t> said) const;

  // Of this epoch.
  uint64_t step_in_epoch() const { return step_; }
  std::optional<uint64_t> total_in_epoch() const { return total_; }
  bool finished() const { return total_ && step_ >= *total_; }

  // Steps were made before the first line that was seen.
  void AddBefore(uint64_t steps) { offset_ += steps; }

 private:
  void BeginAnew(const ProgressUpdate& update);
  Change TakeEpoch(const ProgressUpdate& update);
  Change TakeStep(const ProgressUpdate& update);
  bool BeginsAgain(uint64_t step);

  uint64_t step_ = 0;
  std::optional<uint64_t> total_;
  uint64_t offset_ = 0;  // steps of the epochs before
  bool repeated_ = false;
  std::optional<uint64_t> epoch_;
  uint64_t first_epoch_ = 0;  // its number
  std::optional<uint64_t> epochs_;
  bool last_epoch_ = false;
  bool in_epoch_ = false;
  std::optional<uint64_t> fallen_;  // where the bar has begun again, if it goes on from there
};

}  // namespace autodist::progress
