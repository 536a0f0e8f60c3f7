#include "metrics/board_metrics.h"

#include "metrics/board_parts.h"

namespace autodist::metrics {

bool IsHeard(const v1::BoardNode& node) {
  switch (node.phase()) {
    case v1::NODE_PHASE_LAUNCHING:
    case v1::NODE_PHASE_READY:
    case v1::NODE_PHASE_RUNNING:
    case v1::NODE_PHASE_STOPPING:
      return true;
    default:
      return false;
  }
}

std::vector<Family> MetricsOf(const v1::Board& board, int64_t now_ms) {
  const BoardView view{board, now_ms};
  FamilySet set;
  AddJob(view, set);
  AddProgress(view, set);
  AddRanks(view, set);
  AddNodes(view, set);
  AddGpus(view, set);
  return set.Take();
}

}  // namespace autodist::metrics
