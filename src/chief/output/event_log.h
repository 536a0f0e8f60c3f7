// What happens to a job, with time and cause, in its log folder.
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

// For the loop's thread, which it does not block but in Create. The loop's background must be
// drained before it goes.
class EventLog {
 public:
  // Makes the folder where it is missing, and events.jsonl in it.
  static Result<std::unique_ptr<EventLog>> Create(const base::LogFolder& folder, Loop& loop);

  // Adds the present time. A full disk is told once, in the log.
  void Record(v1::JobEvent event);
  // The last kLast that were recorded, oldest first.
  const std::deque<v1::JobEvent>& last() const { return last_; }
  static constexpr size_t kLast = 200;
  uint64_t recorded() const { return recorded_; }  // how many

 private:
  EventLog(Loop& loop, base::UniqueFd file) : loop_(loop), file_(std::move(file)) {}
  void Write(const std::string& line);

  Loop& loop_;
  std::deque<v1::JobEvent> last_;
  uint64_t recorded_ = 0;
  const base::UniqueFd file_;
  bool cut_short_ = false;  // the background's
};

}  // namespace autodist::chief
