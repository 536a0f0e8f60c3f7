// Runs a job from launch to end, for every command that runs one.
#pragma once

#include "autodist/v1/plan.pb.h"
#include "chief/job.h"

namespace autodist::chief {

// Makes the job visible to other commands meanwhile. Returns the exit code. Blocks until nothing of
// the job is left; if it is to be detached, until its ranks run: it then continues in a process of
// its own. Called once, in a process without other threads.
int RunJob(const v1::LaunchPlan& plan, JobOptions options);

}  // namespace autodist::chief
