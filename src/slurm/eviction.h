// What is known where Slurm takes nodes away. `scancel`, a requeue, preemption and the time limit
// end the allocation as a whole: all steps get SIGTERM, and so does this process, which ends the
// job by that signal as by any other (chief/job_signals). What an agent says of it adds nothing.
#pragma once

#include "autodist/v1/plan.pb.h"

namespace autodist::slurm {

// Whether what ends the agent of a node reached like that ends the whole allocation.
inline bool EndsAllocation(const v1::Reach& reach) { return reach.callback().has_step(); }

}  // namespace autodist::slurm
