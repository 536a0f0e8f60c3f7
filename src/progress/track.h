// One bar, or one kind of line, over the time that it is drawn or written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "progress/bars.h"
#include "progress/step_rate.h"
#include "progress/told.h"

namespace autodist::progress {

// Counts its steps over the epochs in which they begin anew. Not thread-safe.
class Track {
 public:
  // By whatever of it does not change from one line to the next.
  static std::string KeyOf(const Told& told, Subject subject);

  Track(std::string key, Subject subject, const Told& told, Time now);

  enum class Change {
    kNone,  // the line tells nothing new, or is an old one that comes once more
    kOn,
    kAnew,  // it has begun from its beginning
  };
  // `line`: what was told, by its hash.
  Change Take(const Told& told, size_t line, Time now);

  const std::string& key() const { return key_; }
  Subject subject() const { return subject_; }
  Source source() const { return source_; }
  // The same bar has another label now.
  void Rename(std::string key, Subject subject);

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
  bool advanced() const { return advanced_; }  // since it was first seen
  Time last() const { return last_; }          // when it was

  // Steps were made before it was first seen.
  void AddBefore(uint64_t steps) { offset_ += steps; }

  bool side = false;  // it says nothing of how far the job is
  std::string what;   // as people read it

 private:
  void BeginAnew(const Told& told);
  Change TakeEpoch(const Told& told);
  Change TakeStep(const Told& told);
  bool BeginsAgain(uint64_t step);

  std::string key_;
  Subject subject_;
  Source source_;
  uint64_t step_ = 0;
  std::optional<uint64_t> total_;
  uint64_t offset_ = 0;  // steps of the epochs before
  bool repeated_ = false;
  std::optional<uint64_t> epoch_;
  uint64_t first_epoch_ = 0;  // its number
  std::optional<uint64_t> epochs_;
  bool last_epoch_ = false;
  bool in_epoch_ = false;
  bool advanced_ = false;
  std::optional<uint64_t> fallen_;  // where the bar has begun again, if it goes on from there
  size_t line_ = 0;                 // the last one
  size_t ended_line_ = 0;           // that of the epoch before
  Time last_;
};

}  // namespace autodist::progress
