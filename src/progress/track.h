// One bar, or one kind of line, over the time that it is drawn or written.
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

// Knows its lines again, of which an old one tells nothing new. Not thread-safe.
class Track {
 public:
  // By whatever of it does not change from one line to the next.
  static std::string KeyOf(const ProgressUpdate& update, Subject subject);

  Track(std::string key, Subject subject, const ProgressUpdate& update, Time now)
      : key_(std::move(key)),
        subject_(subject),
        source_(update.source),
        steps_(update),
        last_(now) {}

  // `line`: what was told, by its hash.
  StepCount::Change Take(const ProgressUpdate& update, size_t line, Time now);

  const std::string& key() const { return key_; }
  Subject subject() const { return subject_; }
  Source source() const { return source_; }
  // The same bar has another label now.
  void Rename(std::string key, Subject subject);

  const StepCount& steps() const { return steps_; }
  void AddBefore(uint64_t steps) { steps_.AddBefore(steps); }

  bool advanced() const { return line_.has_value(); }  // since it was first seen
  Time last() const { return last_; }                  // when it was

  bool side = false;  // it says nothing of how far the job is
  std::string what;   // as people read it

 private:
  std::string key_;
  Subject subject_;
  Source source_;
  StepCount steps_;
  std::optional<size_t> line_;        // the last one, but for the first
  std::optional<size_t> ended_line_;  // that of the epoch before
  Time last_;
};

}  // namespace autodist::progress
