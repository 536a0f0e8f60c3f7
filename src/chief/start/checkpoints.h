// Compares the newest checkpoints of the nodes, before ranks resume from them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/prepare.pb.h"

namespace autodist::chief {

// What to search on each node of an attempt. Absent: there is nothing to compare.
std::optional<v1::CheckpointRequest> CheckpointsToCompare(const v1::JobRequest& request,
                                                          size_t nodes);

struct NodeCheckpoint {
  std::string address;
  v1::CheckpointFact newest;
};

// "host1 has step-20/model.pt of 2026-11-30 12:00:05, host2 has none"; "": no node has any, or all
// have the same: what was written together, as shards of each node are.
std::string CheckpointsDiffer(const std::vector<NodeCheckpoint>& nodes);

}  // namespace autodist::chief
