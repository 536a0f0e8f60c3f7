// The machines of a Slurm allocation, as its environment variables tell them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/host_list.h"

namespace autodist::slurm {

// The value of an environment variable; nullopt if it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// The nodes of SLURM_JOB_NODELIST, and of all components of a heterogeneous job. Their slots are
// the GPUs that Slurm gave, where it gave any (SLURM_GPUS_ON_NODE, SLURM_JOB_GPUS,
// SLURM_GPUS_PER_NODE, SLURM_GPUS), else the tasks (SLURM_NTASKS_PER_NODE, SLURM_TASKS_PER_NODE).
spec::HostList SlurmHosts(const Variables& variables);

// What --slurm does not use of a heterogeneous job, for a warning; "" of any other.
std::string LeftOutComponents(const Variables& variables);

// The GPUs that a job has on its nodes, by name, as Slurm numbers them there: what `scontrol show
// job
// --details` prints tells it. Nodes without any are left out.
std::map<std::string, std::vector<uint32_t>> SlurmGpus(std::string_view details);

}  // namespace autodist::slurm
