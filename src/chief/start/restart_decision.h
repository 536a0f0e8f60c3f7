// Whether an attempt that has ended is followed by another one, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/policy/restart_policy.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class RestartDecision {
 public:
  // What is given must outlive it.
  RestartDecision(const JobOptions& options, const Loop& loop, const Fleet& nodes)
      : options_(options),
        loop_(loop),
        nodes_(nodes),
        restarts_(RestartLimitsOf(options.request())) {}

  // Whether its first failure may be that a port was taken that had been free a moment before. Its
  // output tells.
  bool MayHaveLostPortRace(const Attempt& attempt) const;
  // How long to wait until another attempt follows this one, which has ended with a cause; nullopt:
  // none does. The attempt's output must have arrived.
  std::optional<std::chrono::milliseconds> WaitAfter(const Attempt& attempt);

 private:
  bool LostPortRace(const Attempt& attempt) const;

  const JobOptions& options_;
  const Loop& loop_;
  const Fleet& nodes_;
  RestartPolicy restarts_;
  uint32_t races_lost_ = 0;  // for ports, between choosing and opening them
};

}  // namespace autodist::chief
