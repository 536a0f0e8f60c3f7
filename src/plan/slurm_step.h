// How programs run on the nodes of a Slurm allocation: as steps of it, by srun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace autodist::plan {

// The command that runs what follows its words once on each of so many nodes of the allocation that
// we are in, all of its nodes if there are no more.
std::vector<std::string> SlurmStepWords(size_t nodes);

// The command that runs what follows its words on that node, in a step of its own. Where that is to
// start an agent, another step holds the agent, and ends with it: Slurm ends whatever a step has
// started when the step ends.
std::vector<std::string> SlurmStepWordsFor(const std::string& node, const std::string& job_id,
                                           uint32_t node_rank);

}  // namespace autodist::plan
