// The machines of a Slurm allocation, according to its environment variables.
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

// Returns the value of an environment variable; nullopt if it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// Returns the nodes of SLURM_JOB_NODELIST, and of all components of a heterogeneous job. Their
// slots are the allocated GPUs, if any (SLURM_GPUS_ON_NODE, SLURM_JOB_GPUS, SLURM_GPUS_PER_NODE,
// SLURM_GPUS), else the tasks (SLURM_NTASKS_PER_NODE, SLURM_TASKS_PER_NODE).
spec::HostList SlurmHosts(const Variables& variables);

// Returns how many tasks srun has started in the step of this process. 1: outside of a step, as in
// a batch script, whose variables describe the allocation.
uint64_t TasksOfStep(const Variables& variables);

// Returns a warning about the components of a heterogeneous job that --slurm does not use; or "".
std::string LeftOutComponents(const Variables& variables);

// Parses the GPUs of a job by node name, in Slurm's numbering, from the output of `scontrol show
// job --details`. Nodes without GPUs are left out.
std::map<std::string, std::vector<uint32_t>> SlurmGpus(std::string_view details);

}  // namespace autodist::slurm
