#include "snapshot/lookup.h"

#include <algorithm>

#include "base/ranges.h"
#include "base/utf8.h"

namespace autodist::snapshot {

const v1::RankSnapshot* FindRank(const v1::JobSnapshot& snapshot, uint32_t rank) {
  const auto found = std::ranges::lower_bound(snapshot.ranks(), rank, {}, &v1::RankSnapshot::rank);
  return found != snapshot.ranks().end() && found->rank() == rank ? &*found : nullptr;
}

const v1::NodeSnapshot* NodeOf(const v1::JobSnapshot& snapshot, const v1::RankSnapshot& rank) {
  if (rank.node() >= static_cast<uint32_t>(snapshot.nodes_size())) return nullptr;
  return &snapshot.nodes(static_cast<int>(rank.node()));
}

std::string RankName(const v1::JobSnapshot& snapshot, uint32_t rank) {
  const v1::RankSnapshot* found = FindRank(snapshot, rank);
  std::string name = "rank " + std::to_string(rank);
  if (!found) return name;
  if (!found->name().empty()) name = found->name();
  const v1::NodeSnapshot* node = NodeOf(snapshot, *found);
  if (!node) return base::Printable(name);
  name += " (" + node->address();
  for (const uint32_t gpu : found->gpus()) name += ", GPU " + std::to_string(gpu);
  return base::Printable(name + ")");
}

std::string RanksName(const std::vector<uint32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + base::RangesText(ranks, ", ");
}

std::vector<int> SampledNodes(const v1::JobSnapshot& snapshot) {
  std::vector<int> nodes;
  for (int i = 0; i < snapshot.nodes_size(); ++i) {
    const v1::NodeSnapshot& node = snapshot.nodes(i);
    if (node.phase() == v1::NODE_PHASE_RUNNING && node.has_sample()) nodes.push_back(i);
  }
  return nodes;
}

bool SampledSince(const v1::JobSnapshot& before, const v1::JobSnapshot& now, int node) {
  return node < before.nodes_size() && node < now.nodes_size() &&
         now.nodes(node).sample().time_ns() != before.nodes(node).sample().time_ns();
}

bool AllSampledSince(const v1::JobSnapshot& before, const v1::JobSnapshot& now) {
  return std::ranges::all_of(SampledNodes(before),
                             [&](int node) { return SampledSince(before, now, node); });
}

const v1::Issue* StandstillIn(const v1::JobSnapshot& snapshot) {
  const auto found =
      std::ranges::find(snapshot.issues(), v1::Issue::KIND_STALLED, &v1::Issue::kind);
  return found == snapshot.issues().end() ? nullptr : &*found;
}

}  // namespace autodist::snapshot
