// The Slurm allocation that autodist was started in.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::slurm {

// Its nodes, with the GPUs that the allocation has there, as CUDA will number them, or else a CPU
// rank for each of its tasks; reached by steps of it. Asks Slurm's controller, and blocks on that
// for a minute at most. kInvalidArgument: this is not in an allocation.
Result<spec::ResourceSpec> SlurmAllocation();

// How long Slurm lets programs run between SIGTERM and SIGKILL when it ends a job (KillWait).
// Blocks likewise.
Result<std::chrono::seconds> SlurmKillWait();

// munged's socket, "" the default one, where Slurm's programs know each other by munge; nullopt
// where they do not. Blocks likewise.
Result<std::optional<std::string>> SlurmMunge();
// The same of what `scontrol show config` prints.
std::optional<std::string> MungeSocketIn(std::string_view config);

}  // namespace autodist::slurm
