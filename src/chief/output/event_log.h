// What happens to a job, with time and cause, in its log folder.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/fd.h"

namespace autodist::chief {

// Thread-safe; blocks on the disk.
class EventLog {
 public:
  // Makes the folder, with those above it, for this user alone, and events.jsonl in it.
  static Result<std::unique_ptr<EventLog>> Create(const std::string& folder);

  // Adds the present time. A full disk is said once, in the log.
  void Record(v1::JobEvent event);

 private:
  explicit EventLog(base::UniqueFd file) : file_(std::move(file)) {}

  std::mutex mutex_;
  base::UniqueFd file_;     // guarded by mutex_
  bool cut_short_ = false;  // guarded by mutex_
};

}  // namespace autodist::chief
