// Attempts that failed because somebody else took a port between its choice and its opening: they
// are made again with other ports, and count as no failure of the job.
#pragma once

#include <cstdint>

#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/loop/loop.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class PortRaces {
 public:
  // What is given must outlive it.
  PortRaces(const JobOptions& options, const Loop& loop) : options_(options), loop_(loop) {}

  // Whether an attempt that has ended with a cause may have failed by that. Its output tells.
  bool MayHaveLost(const Attempt& attempt) const;
  // Whether it did, and is to be made again; counts it. Its output must have arrived.
  bool Lost(const Attempt& attempt);

 private:
  const JobOptions& options_;
  const Loop& loop_;
  uint32_t lost_ = 0;
};

}  // namespace autodist::chief
