// Converts the parts of a snapshot to metrics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "autodist/v1/snapshot.pb.h"
#include "metrics/family_set.h"
#include "snapshot/lookup.h"

namespace autodist::metrics {

// Data that all parts need.
struct SnapshotView {
  const v1::JobSnapshot& snapshot;
  int64_t now_ms;  // since 1970

  Labels Job() const { return {{"job_id", snapshot.job().job_id()}}; }
  Labels Node(const v1::NodeSnapshot& node) const {
    return With(Job(), {{"node", node.address()}});
  }
  Labels Rank(const v1::RankSnapshot& rank) const {
    return With(Job(), {{"rank", std::to_string(rank.rank())}, {"node", AddressOf(rank)}});
  }
  // Empty: unknown.
  std::string AddressOf(const v1::RankSnapshot& rank) const {
    const v1::NodeSnapshot* node = snapshot::NodeOf(snapshot, rank);
    return node ? node->address() : "";
  }
  // Seconds since then; nullopt: unknown, or never.
  std::optional<double> SecondsSince(int64_t time_ms) const {
    if (time_ms == 0) return std::nullopt;
    return static_cast<double>(std::max<int64_t>(0, now_ms - time_ms)) / 1000;
  }
};

// Whether the node's last state is its current one.
bool IsReachable(const v1::NodeSnapshot& node);

void AddJob(const SnapshotView& view, FamilySet& set);
void AddProgress(const SnapshotView& view, FamilySet& set);
void AddRanks(const SnapshotView& view, FamilySet& set);
void AddNodes(const SnapshotView& view, FamilySet& set);
void AddGpus(const SnapshotView& view, FamilySet& set);

}  // namespace autodist::metrics
