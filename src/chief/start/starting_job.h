// The job whose attempt is being started, as its parts see it.
#pragma once

#include "autodist/v1/plan.pb.h"
#include "chief/attempt/job_options.h"
#include "chief/fleet/fleet.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"
#include "chief/policy/stop_policy.h"

namespace autodist::chief {

// All members must outlive the object.
struct StartingJob {
  const v1::LaunchPlan& plan;  // of the first attempt
  const JobOptions& options;
  Loop& loop;
  const StopPolicy& stop;
  Fleet& nodes;
  Console& console;
};

}  // namespace autodist::chief
