// Evictions by Slurm. `scancel`, a requeue, preemption and the time limit end the whole allocation:
// all steps get SIGTERM, and so does this process, which ends the job as after any signal
// (chief/job_signals). Messages of agents about it are not needed.
#pragma once

#include "autodist/v1/plan.pb.h"

namespace autodist::slurm {

// Whether the end of this node's agent means that the whole allocation ends.
inline bool EndsAllocation(const v1::Reach& reach) { return reach.callback().has_step(); }

}  // namespace autodist::slurm
