// Finds and names ranks and nodes of a snapshot. Pure functions; returned pointers are valid as
// long as the snapshot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// nullptr: the snapshot, whose ranks are sorted, has no such rank or node.
const v1::RankSnapshot* FindRank(const v1::JobSnapshot& snapshot, uint32_t rank);
const v1::NodeSnapshot* NodeOf(const v1::JobSnapshot& snapshot, const v1::RankSnapshot& rank);

// "rank 13 (node4, GPU 5)", "rank 2 (host2)", "rank 2"; printable.
std::string RankName(const v1::JobSnapshot& snapshot, uint32_t rank);
// "rank 3", "ranks 0-1, 3".
std::string RanksName(const std::vector<uint32_t>& ranks);

// The indices of running nodes, whose samples are therefore current.
std::vector<int> SampledNodes(const v1::JobSnapshot& snapshot);
// Whether the node's sample differs from that in `before`, so that comparing them is meaningful.
bool SampledSince(const v1::JobSnapshot& before, const v1::JobSnapshot& now, int node);
// The same for all nodes that had a sample before.
bool AllSampledSince(const v1::JobSnapshot& before, const v1::JobSnapshot& now);

// The issue of a job that makes no steps or shows no activity; nullptr: none.
const v1::Issue* StandstillIn(const v1::JobSnapshot& snapshot);

}  // namespace autodist::snapshot
