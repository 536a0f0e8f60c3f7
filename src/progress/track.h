// One bar, or one kind of line, over its lifetime.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "progress/bars.h"
#include "progress/progress_update.h"

namespace autodist::progress {

// Counts the steps of one bar or one kind of line. Adds up steps over epochs that each restart the
// count. All updates must have the same source. Not thread-safe.
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

using Time = std::chrono::steady_clock::time_point;

// Measures the rate of steps by the local clock. Bounded size. Not thread-safe.
class StepRate {
 public:
  // The window of the current rate: the longer of the two.
  static constexpr std::chrono::seconds kWindow{5};
  static constexpr uint64_t kWindowSteps = 20;

  // Restarts the measurement.
  void Begin();
  // Adds the number of steps at this time; neither argument may decrease.
  void Add(uint64_t step, Time now);

  // Steps per second over the last window; nullopt: too few samples.
  std::optional<double> now() const;
  // Rate over the last half of the run, including pauses, for an estimate of the remaining time.
  // Ignores a slow start.
  std::optional<double> lasting() const;
  // The time that `now` covers.
  Time::duration seen() const {
    return recent_.empty() ? Time::duration{} : last_.time - recent_.front().time;
  }

 private:
  struct Sample {
    Time time;
    uint64_t step;
  };
  static std::optional<double> Between(const Sample& first, const Sample& last);

  Sample last_{};
  std::deque<Sample> recent_;   // oldest first; the first one begins the window
  std::vector<Sample> course_;  // the whole run, thinned
  Time::duration spacing_{};    // between the samples of course_
};

// Recognizes repeated lines, which change nothing. Not thread-safe.
class Track {
 public:
  // Key of the parts that do not change from one line to the next.
  static std::string KeyOf(const ProgressUpdate& update, Subject subject);

  Track(std::string key, Subject subject, const ProgressUpdate& update, Time now)
      : key_(std::move(key)),
        subject_(subject),
        source_(update.source),
        steps_(update),
        last_(now) {}

  // `line`: the hash of the line.
  StepCount::Change Take(const ProgressUpdate& update, size_t line, Time now);

  const std::string& key() const { return key_; }
  Subject subject() const { return subject_; }
  Source source() const { return source_; }
  // The same bar has a new label.
  void Rename(std::string key, Subject subject);

  const StepCount& steps() const { return steps_; }
  void AddBefore(uint64_t steps) { steps_.AddBefore(steps); }

  bool advanced() const { return line_.has_value(); }  // since the first line
  Time last() const { return last_; }                  // time of the last line

  bool side = false;  // says nothing about the progress of the job
  std::string what;   // the name for users

 private:
  std::string key_;
  Subject subject_;
  Source source_;
  StepCount steps_;
  std::optional<size_t> line_;        // hash of the last line, except the first
  std::optional<size_t> ended_line_;  // hash of the last line of the previous epoch
  Time last_;
};

}  // namespace autodist::progress
