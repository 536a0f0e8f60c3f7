// Ports of a plan that somebody else has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "chief/output/last_words.h"
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

// Whether a rank says at its end that it could not open one of the node's ports, other than
// `fixed`.
bool SaysPortIsTaken(const LastWords& words, const v1::NodePlan& node, uint32_t fixed);

}  // namespace autodist::chief
