// A job from its launch to its end, for every command that runs one.
#pragma once

#include "autodist/v1/plan.pb.h"
#include "chief/job.h"

namespace autodist::chief {

// Lets other commands find the job meanwhile. Returns the exit code; blocks until nothing of the
// job is left, or where it is to be detached until its ranks run: it then goes on in a process of
// its own. In a process without other threads, and once.
int RunJob(const v1::LaunchPlan& plan, JobOptions options);

}  // namespace autodist::chief
