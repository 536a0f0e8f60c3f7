// Has Python processes wait beside the ranks for the next attempt (--warm).
#pragma once

#include <cstdint>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/job_parts.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class WarmStart {
 public:
  // `parts` must outlive it.
  explicit WarmStart(JobParts& parts) : parts_(parts) {}

  // The ranks of an attempt start.
  void BeginAttempt();
  // Does the work that is due; returns when to call it again.
  Loop::Time Tick(const Attempt& attempt);
  // Passes the modules that a rank has imported on to the spares.
  void Take(const v1::ImportedModules& modules);

 private:
  JobParts& parts_;
  Loop::Time due_ = Loop::Time::max();
};

}  // namespace autodist::chief
