// What happens to a job, with time and cause, in its log folder.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::chief {

// For one thread, which it does not block but in Create.
class EventLog {
 public:
  // Runs the task, which may wait for a disk; one after another.
  using InBackground = std::function<void(std::function<void()> task)>;

  // Makes the folder, with those above it, for this user alone, and events.jsonl in it.
  static Result<std::unique_ptr<EventLog>> Create(const std::string& folder,
                                                  InBackground in_background);

  // Adds the present time. A full disk is told once, in the log.
  void Record(v1::JobEvent event);

 private:
  class File;
  EventLog(std::shared_ptr<File> file, InBackground in_background);

  const std::shared_ptr<File> file_;  // the background's, too
  const InBackground in_background_;
};

}  // namespace autodist::chief
