// A plan as text for the terminal, and as JSON (`--dry-run`); secrets are left out.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

// "6 ranks on 3 nodes", and how they are started where that is not our doing.
std::string WhatRuns(const v1::LaunchPlan& plan);
// The same, and why ranks are on CPUs where that was not asked for: ", on CPUs (no GPU found)".
std::string WhatRunsAndWhere(const v1::LaunchPlan& plan);

// "ssh root@gpu1 port 22 through gate".
std::string ReachAsText(const v1::Reach& reach);

// " (10.0.0.1)": the address between ranks, where it is another one; else "".
std::string DataAddressAsText(const v1::NodePlan& node);

// Of what the person has given for the environment: variables, and the activation.
enum class GivenValues {
  kHidden,
  kShown,  // other than those of secrets
};

// Per node how it is reached; per rank its device, environment and argv, where they differ: what
// all ranks have, or all of a node, is told once.
std::string PlanAsText(v1::LaunchPlan plan, GivenValues given);

// The LaunchPlan message as json::PlainJson has it.
std::string PlanAsJson(v1::LaunchPlan plan, GivenValues given);

// The names, each after a space, as many to a line as fit; each line begins with a line feed and so
// many spaces.
std::string Wrapped(const std::vector<std::string>& names, size_t indentation);

// Whether a variable of this name holds something that must not be shown.
bool IsSecretName(const std::string& name);

}  // namespace autodist::plan
