// The variables a rank finds: AUTODIST_* and what PyTorch's env:// initialisation reads.
//
// Sources of the names: torch/distributed/rendezvous.py and
// torch/distributed/elastic/agent/server/local_elastic_agent.py (PyTorch 2).
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"

namespace autodist::plan {

struct RankContext {
  const v1::LaunchPlan* plan;  // node list and world size are complete
  const v1::NodePlan* node;
  uint32_t rank;
  uint32_t local_rank;
  uint32_t local_world_size;
  std::vector<uint32_t> gpus;  // of the node
  uint16_t master_port;
};

void SetRankEnvironment(const RankContext& context, v1::RankPlan& rank);

// What concerns all ranks of a node: removed, defaulted and interface variables.
void SetNodeEnvironment(uint32_t local_world_size, v1::NodePlan& node);

}  // namespace autodist::plan
