// Writes the events of a job to its log folder.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/fd.h"
#include "base/log_folder.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread; only Create blocks. The loop's background must be drained before it is
// destroyed.
class EventLog {
 public:
  // Creates the folder if missing, and events.jsonl in it.
  static Result<std::unique_ptr<EventLog>> Create(const base::LogFolder& folder, Loop& loop);

  // Adds the current time. Logs a write error once.
  void Record(v1::JobEvent event);
  // The last kLast events, oldest first.
  const std::deque<v1::JobEvent>& last() const { return last_; }
  static constexpr size_t kLast = 200;
  uint64_t recorded() const { return recorded_; }  // number of events

 private:
  EventLog(Loop& loop, base::UniqueFd file) : loop_(loop), file_(std::move(file)) {}
  void Write(const std::string& line);

  Loop& loop_;
  std::deque<v1::JobEvent> last_;
  uint64_t recorded_ = 0;
  const base::UniqueFd file_;
  bool cut_short_ = false;  // used in the background
};

}  // namespace autodist::chief
