// Ports of a plan that somebody else has: when it is prepared, or took between the choice of a port
// and its opening.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/loop/loop.h"
#include "launch/launcher.h"

namespace autodist::chief {

struct TakenPort {
  uint32_t port;
  std::string address;  // of the node, as the spec writes it
};

// As the nodes found when they were prepared for the plan.
std::vector<TakenPort> PortsTaken(const v1::LaunchPlan& plan,
                                  const std::vector<launch::LaunchedNode>& nodes);

// `movable`: another plan would have other ports in their place.
Status PortsTakenError(const std::vector<TakenPort>& taken, bool movable);

// Attempts that failed as somebody else took a port just before: they are made again with other
// ports, and count as no failure of the job. For the loop's thread; never blocks.
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
