// Makes the plans of a job from a spec and a program: of the first attempt and of restarts.
#pragma once

#include "autodist/status.h"
#include "plan/plan.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

// Returns the input of a job's plan; `spec` has the nodes of the request. Blocks on name services,
// and on the nodes if the addresses of their devices are needed. kInvalidArgument: the working
// directory or a variable is invalid.
Result<plan::Input> InputOf(const spec::ResourceSpec& spec, const v1::JobRequest& request);

// Makes the plan from that input.
Result<v1::LaunchPlan> PlanJob(const spec::ResourceSpec& spec, const v1::JobRequest& request);

// Plans an attempt with new ports, except for a master port that the user chose.
Result<v1::LaunchPlan> PlanAttempt(plan::Input input, const plan::Replan& replan);

}  // namespace autodist::chief
