#include "metrics/snapshot_metrics.h"

#include "metrics/snapshot_parts.h"

namespace autodist::metrics {

bool IsReachable(const v1::NodeSnapshot& node) {
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

std::vector<Family> MetricsOf(const v1::JobSnapshot& snapshot, int64_t now_ms) {
  const SnapshotView view{snapshot, now_ms};
  FamilySet set;
  AddJob(view, set);
  AddProgress(view, set);
  AddRanks(view, set);
  AddNodes(view, set);
  AddGpus(view, set);
  return set.Take();
}

}  // namespace autodist::metrics
