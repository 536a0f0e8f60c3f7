// Finds ranks and nodes in a snapshot, and names them. Pure functions; what points into a snapshot
// lives as long as that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// nullptr: the snapshot, whose ranks are sorted, has no such rank, or no such node.
const v1::RankSnapshot* FindRank(const v1::JobSnapshot& snapshot, uint32_t rank);
const v1::NodeSnapshot* NodeOf(const v1::JobSnapshot& snapshot, const v1::RankSnapshot& rank);

// "rank 13 (node4, GPU 5)", "rank 2 (host2)", "rank 2"; printable.
std::string RankName(const v1::JobSnapshot& snapshot, uint32_t rank);
// "rank 3", "ranks 0-1, 3".
std::string RanksName(const std::vector<uint32_t>& ranks);

// The indices of nodes that run, and whose sample is therefore of now.
std::vector<int> SampledNodes(const v1::JobSnapshot& snapshot);
// Whether the node has another sample than in `before`: one sample shows nothing twice.
bool SampledSince(const v1::JobSnapshot& before, const v1::JobSnapshot& now, int node);
// The same of all nodes that had a sample before.
bool AllSampledSince(const v1::JobSnapshot& before, const v1::JobSnapshot& now);

// The issue that says that the job makes no steps, or gives no sign of life; nullptr: none.
const v1::Issue* StandstillIn(const v1::JobSnapshot& snapshot);

}  // namespace autodist::snapshot
