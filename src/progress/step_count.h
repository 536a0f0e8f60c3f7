// Counts the steps of one bar or one kind of line.
#pragma once

#include <cstdint>
#include <optional>

#include "progress/progress_update.h"

namespace autodist::progress {

// Adds up steps over epochs that each restart the count. All updates must have the same source. Not
// thread-safe.
class StepCount {
 public:
  explicit StepCount(const ProgressUpdate& update);

  enum class Change {
    kNone,  // no change, or an old line that is repeated
    kOn,
    kNextEpoch,
    kRestarted,  // restarted from the beginning
  };
  Change Take(const ProgressUpdate& update);

  // Over all epochs.
  uint64_t step() const { return offset_ + step_; }
  // Over all epochs, if their number is known: from the lines, another bar, or `said`, the
  // program's arguments, which count only if the lines number the epochs accordingly.
  std::optional<uint64_t> TotalOver(std::optional<uint64_t> epochs,
                                    std::optional<uint64_t> said) const;

  // Of the current epoch.
  uint64_t step_in_epoch() const { return step_; }
  std::optional<uint64_t> total_in_epoch() const { return total_; }
  bool finished() const { return total_ && step_ >= *total_; }

  // Adds steps that were made before the first line.
  void AddBefore(uint64_t steps) { offset_ += steps; }

 private:
  void Restart(const ProgressUpdate& update);
  Change TakeEpoch(const ProgressUpdate& update);
  Change TakeStep(const ProgressUpdate& update);
  bool BeginsAgain(uint64_t step);

  uint64_t step_ = 0;
  std::optional<uint64_t> total_;
  uint64_t offset_ = 0;  // steps of the epochs before
  bool repeated_ = false;
  std::optional<uint64_t> epoch_;
  uint64_t first_epoch_ = 0;  // the number of the first epoch
  std::optional<uint64_t> epochs_;
  bool last_epoch_ = false;
  bool in_epoch_ = false;
  // where the bar may have restarted, until it advances from there
  std::optional<uint64_t> fallen_;
};

}  // namespace autodist::progress
