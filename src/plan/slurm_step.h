// How programs run on the nodes of a Slurm allocation: as steps of it, by srun.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace autodist::plan {

// The command that runs what follows its words on that node, in a step of its own that has so many
// GPUs, which are all that the allocation has there. Where that is to
// start an agent, another step holds the agent, and ends with it: Slurm ends whatever a step has
// started when the step ends.
std::vector<std::string> SlurmStepWords(const std::string& node, size_t gpus,
                                        const std::string& job_id, uint32_t node_rank);

}  // namespace autodist::plan
