// From a spec and a program to the plans of a job: of its first attempt, and of those after it.
#pragma once

#include "autodist/status.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

// All that the plan of a job is made of; `spec` has the nodes of the request. Blocks on name
// services, and on the nodes where they are asked for the addresses of their devices.
// kInvalidArgument: the working directory, or a variable, is at fault.
Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const v1::JobRequest& request);

// The plan that they make.
Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const v1::JobRequest& request);

// With other ports, but for a master port that the user has chosen.
Result<v1::LaunchPlan> PlanAttempt(plan::Input input, const plan::Replan& replan);

}  // namespace autodist::chief
