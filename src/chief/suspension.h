// Handles Ctrl-Z: stops all ranks, then this process; when it is continued, continues the ranks.
#pragma once

#include "chief/job_parts.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread only.
class Suspension {
 public:
  // The argument must outlive this object.
  explicit Suspension(JobParts& parts) : parts_(parts) {}

  void Begin();
  // Cancels a pending suspension because the attempt is to end: a stopped chief ends no ranks.
  void Cancel();
  // Suspends or resumes if due; called after each task of the loop. Blocks while this process is
  // stopped.
  void Advance();
  // When to call Advance at the latest.
  Loop::Time due() const { return until_; }

 private:
  enum class Stage { kNone, kStopping, kCancelled };

  JobParts& parts_;
  Stage stage_ = Stage::kNone;
  Loop::Time until_ = Loop::Time::max();  // end of kStopping
};

}  // namespace autodist::chief
