// The Slurm allocation in which autodist was started.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::slurm {

// Returns the allocation's nodes, which are reached by steps, with the allocated GPUs in CUDA's
// numbering, or else with one CPU rank per task. Asks Slurm's controller, and blocks for a minute
// at most. kInvalidArgument: not in an allocation.
Result<spec::ResourceSpec> SlurmAllocation();

// Returns the time between SIGTERM and SIGKILL when Slurm ends a job (KillWait). Blocks for a
// minute at most.
Result<std::chrono::seconds> SlurmKillWait();

// Returns munged's socket, "" for the default one, if Slurm authenticates by munge; otherwise
// nullopt. Blocks for a minute at most.
Result<std::optional<std::string>> SlurmMunge();
// The same for the output of `scontrol show config`.
std::optional<std::string> MungeSocketIn(std::string_view config);

}  // namespace autodist::slurm
