// Texts about nodes that have been prepared, or could not be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/diagnosis.pb.h"
#include "chief/attempt/attempt.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Lists what is bad, with cause and remedy, equal issues of nodes grouped; "" if nothing is.
// `nodes`: their number. `attempt`: its number.
std::string LaunchReport(const v1::Diagnosis& diagnosis, size_t nodes, uint32_t attempt = 0);

// The same, only by whether nodes are ready. `synced`: the working directory was copied.
// `lacks_program_here`: by LacksProgramHere.
std::string LaunchReport(const v1::LaunchPlan& plan, const std::vector<launch::LaunchedNode>& nodes,
                         bool synced, uint32_t attempt = 0, bool lacks_program_here = false);

// Returns why the node cannot run its part of a plan; "": it can.
std::string WhyRefused(const launch::LaunchedNode& node);

// Returns 126 or 127 if the command is the only issue, else 125; 0 if there are no issues.
int LaunchExitCode(const std::vector<launch::LaunchedNode>& nodes);

// "node1, node2 and 7 others: the disk is nearly full": each warning once.
std::vector<std::string> WarningsOf(const Attempt& attempt,
                                    const std::vector<launch::LaunchedNode>& nodes);

// Names devices of the attempt that others use; "": they are free.
std::string BusyDevices(const Attempt& attempt, const std::vector<launch::LaunchedNode>& nodes);

}  // namespace autodist::chief
