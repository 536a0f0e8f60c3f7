// The Slurm allocation that autodist was started in.
#pragma once

#include <chrono>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::reach {

// Its nodes, with the GPUs that the allocation has there, as CUDA will number them, or else a CPU
// rank for each of its tasks; reached by steps of it. Asks Slurm's controller, and blocks on that
// for a minute at most. kInvalidArgument: this is not in an allocation.
Result<spec::ResourceSpec> SlurmAllocation();

// How long Slurm lets programs run between SIGTERM and SIGKILL when it ends a job (KillWait).
// Blocks likewise.
Result<std::chrono::seconds> SlurmKillWait();

}  // namespace autodist::reach
