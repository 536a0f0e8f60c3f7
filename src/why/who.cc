#include "why/who.h"

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "why/stack_groups.h"

namespace autodist::why {

const v1::BoardRank* FindRank(const v1::Board& board, uint32_t rank) {
  const auto found = std::ranges::lower_bound(board.ranks(), rank, {}, &v1::BoardRank::rank);
  return found != board.ranks().end() && found->rank() == rank ? &*found : nullptr;
}

const v1::BoardNode* NodeOf(const v1::Board& board, const v1::BoardRank& rank) {
  if (rank.node() >= static_cast<uint32_t>(board.nodes_size())) return nullptr;
  return &board.nodes(static_cast<int>(rank.node()));
}

std::string RankName(const v1::Board& board, uint32_t rank) {
  const v1::BoardRank* found = FindRank(board, rank);
  std::string name = "rank " + std::to_string(rank);
  if (!found) return name;
  if (!found->name().empty()) name = found->name();
  const v1::BoardNode* node = NodeOf(board, *found);
  if (!node) return base::Printable(name);
  name += " (" + node->address();
  for (const uint32_t gpu : found->gpus()) name += ", GPU " + std::to_string(gpu);
  return base::Printable(name + ")");
}

std::string RanksName(const std::vector<uint32_t>& ranks) {
  google::protobuf::RepeatedField<uint32_t> list;
  for (const uint32_t rank : ranks) list.Add(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + RankList(list);
}

std::string Cores(double cores) {
  const long tenths = std::lround(cores * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " cores";
}

void AddEvidence(v1::Trouble& trouble, const std::string& what, const std::string& value,
                 const std::string& source, bool against) {
  v1::Evidence& evidence = *trouble.add_evidence();
  evidence.set_what(what);
  evidence.set_value(value);
  evidence.set_source(source);
  evidence.set_against(against);
}

void AddRank(const v1::Board& board, uint32_t rank, v1::Trouble& trouble) {
  if (std::ranges::count(trouble.ranks(), rank) == 0) trouble.add_ranks(rank);
  const v1::BoardRank* found = FindRank(board, rank);
  if (found && NodeOf(board, *found) && std::ranges::count(trouble.nodes(), found->node()) == 0) {
    trouble.add_nodes(found->node());
  }
}

v1::Trouble OfNode(const v1::Board& board, int node, v1::Trouble::Kind kind,
                   const std::string& what) {
  const v1::BoardNode& of = board.nodes(node);
  v1::Trouble trouble;
  trouble.set_kind(kind);
  trouble.add_nodes(static_cast<uint32_t>(node));
  *trouble.mutable_ranks() = of.ranks();
  trouble.set_what(base::Printable(of.address()) + what);
  return trouble;
}

}  // namespace autodist::why
