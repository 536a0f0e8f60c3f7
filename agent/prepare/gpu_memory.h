// Memory of GPUs that the ranks of the previous attempt have left. The driver frees it some time
// after the processes have ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// Bytes in use by no process that can be seen on the node, for example by one in another container,
// by number of the GPU; without those of which it is unknown.
using UnseenMemory = std::map<uint32_t, uint64_t>;
UnseenMemory UnseenOf(const v1::NodeInfo& gpus);

// Returns a text for each planned GPU with such memory: "GPU 0 still has 3000 MiB in use, of
// python3 (pid 7, of ann)". What processes outside `job` hold does not count, nor what was in use
// before the job's first ranks started on the node. Pure logic.
std::vector<std::string> MemoryLeft(const v1::NodePlan& node, const v1::NodeInfo& gpus,
                                    const std::string& job, const UnseenMemory& before);

// Blocks until no memory is left, at most for `limit` plus the time that GpuUsers needs. Returns
// what is left then, or at `stop`; nothing if nvidia-smi does not answer.
std::vector<std::string> AwaitFreeMemory(const v1::NodePlan& node, const std::string& job,
                                         const UnseenMemory& before,
                                         const process::Environment& environment,
                                         const std::string& working_directory,
                                         std::chrono::milliseconds limit,
                                         const std::stop_token& stop, Supervisor& supervisor);

}  // namespace autodist::agent
