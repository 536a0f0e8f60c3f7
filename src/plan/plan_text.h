// Formats a plan as text for the terminal, and as JSON (`--dry-run`), without secrets.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// Returns "6 ranks on 3 nodes", and who starts them if autodist does not.
std::string WhatRuns(const v1::LaunchPlan& plan);
// The same, with the reason if ranks are on CPUs unintentionally: ", on CPUs (no GPU found)".
std::string WhatRunsAndWhere(const v1::LaunchPlan& plan);

// Returns "ssh root@gpu1 port 22 through gate".
std::string ReachAsText(const v1::Reach& reach);

// Returns " (10.0.0.1)", the address between ranks, if it is a different one; else "".
std::string DataAddressAsText(const v1::NodePlan& node);

// How to format the user's values for the environment: variables, and the activation.
enum class GivenValues {
  kHidden,
  kShown,  // except for secrets
};

// Formats how each node is reached, and the device, environment and argv of each rank. Settings
// that all ranks, or all ranks of a node, have in common appear once.
std::string PlanAsText(v1::LaunchPlan plan, GivenValues given);

// Formats the LaunchPlan message with json::PlainJson.
std::string PlanAsJson(v1::LaunchPlan plan, GivenValues given);

// Formats the names, each after a space, in lines of limited width; each line begins with a line
// feed and `indentation` spaces.
std::string Wrapped(const std::vector<std::string>& names, size_t indentation);

// Whether a variable of this name probably holds a secret.
bool IsSecretName(const std::string& name);

}  // namespace autodist::plan
