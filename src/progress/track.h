// One bar, or one kind of line, over its lifetime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "progress/bars.h"
#include "progress/progress_update.h"
#include "progress/step_count.h"
#include "progress/step_rate.h"

namespace autodist::progress {

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
