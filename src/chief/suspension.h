// Ctrl-Z: all ranks are stopped, then this process, until it is continued; then the ranks go on.
#pragma once

#include "chief/job_parts.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// For the loop's thread.
class Suspension {
 public:
  // What is given must outlive it.
  explicit Suspension(JobParts& parts) : parts_(parts) {}

  void Begin();
  // The attempt is to end, which counts for more: a chief that stands still ends no ranks.
  void Cancel();
  // Goes on where that is due; to be called after each task of the loop. Blocks as long as this
  // process is stopped.
  void Advance();
  // When to call that again at the latest.
  Loop::Time due() const { return until_; }

 private:
  enum class Stage { kNone, kTelling, kCancelled };

  JobParts& parts_;
  Stage stage_ = Stage::kNone;
  Loop::Time until_ = Loop::Time::max();  // of kTelling
};

}  // namespace autodist::chief
