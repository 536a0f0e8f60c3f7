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
  // Passes the modules that the first member has reported on to the spares.
  void Take(uint32_t member, const v1::ImportedModules& modules);

 private:
  JobParts& parts_;
  Loop::Time due_ = Loop::Time::max();
  bool asked_ = false;  // the first member reports its modules
};

}  // namespace autodist::chief
