// Handles ports of a plan that another program uses when the plan is prepared, or takes between the
// choice of a port and its opening.
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
  std::string address;  // of the node, as in the spec
};

// Returns the ports that were in use when the nodes were prepared for the plan.
std::vector<TakenPort> PortsTaken(const v1::LaunchPlan& plan,
                                  const std::vector<launch::LaunchedNode>& nodes);

// `movable`: another plan would use other ports.
Status PortsTakenError(const std::vector<TakenPort>& taken, bool movable);

// Recognizes attempts that failed because another program took a port just before: they are
// repeated with other ports, and do not count as restarts. Used on the loop's thread; never blocks.
class PortRaces {
 public:
  // The arguments must outlive it.
  PortRaces(const JobOptions& options, const Loop& loop) : options_(options), loop_(loop) {}

  // Returns whether an attempt with a cause may have failed because of a port; its output decides.
  bool MayHaveLost(const Attempt& attempt) const;
  // Returns whether it did and is to be repeated; counts it. Its output must have arrived.
  bool Lost(const Attempt& attempt);

 private:
  const JobOptions& options_;
  const Loop& loop_;
  uint32_t lost_ = 0;
};

}  // namespace autodist::chief
