// The machines of a Slurm allocation, as its environment variables tell them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "spec/host_list.h"

namespace autodist::spec {

// The value of an environment variable; nullopt if it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// The nodes of SLURM_JOB_NODELIST. Their slots are the GPUs that Slurm gave, where it gave any
// (SLURM_GPUS_ON_NODE, SLURM_JOB_GPUS, SLURM_GPUS_PER_NODE), else the tasks (SLURM_NTASKS_PER_NODE,
// SLURM_TASKS_PER_NODE).
HostList SlurmHosts(const Variables& variables);

}  // namespace autodist::spec
