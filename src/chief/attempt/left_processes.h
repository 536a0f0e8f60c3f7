// Processes that ranks have left. Pure logic.
#pragma once

#include <cstdint>
#include <string>

#include "autodist/v1/plan.pb.h"
#include "autodist/v1/session.pb.h"

namespace autodist::chief {

// "python3 (pid 77)"
std::string ProcessName(const v1::LeftProcess& process);

// Says what autodist waits for, or has killed, on a node of the plan; "": nothing to say.
std::string TextOfLeft(const v1::ProcessesLeft& left, const v1::NodePlan& node, bool all_ended);

// Returns a process that a start script, as a rank of the node, has left; null: none.
const v1::LeftProcess* LeftByScript(const v1::ProcessesLeft& left, const v1::NodePlan& node,
                                    uint32_t rank);

}  // namespace autodist::chief
