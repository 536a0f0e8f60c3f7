// Ranks, nodes, GPUs and cores as a verdict names them. Pure logic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// nullptr: the board, whose ranks are sorted, has no such rank, or no such node.
const v1::BoardRank* FindRank(const v1::Board& board, uint32_t rank);
const v1::BoardNode* NodeOf(const v1::Board& board, const v1::BoardRank& rank);

// "rank 13 (node4, GPU 5)", "rank 2 (host2)", "rank 2"; printable.
std::string RankName(const v1::Board& board, uint32_t rank);
// "rank 3", "ranks 0-1, 3".
std::string RanksName(const std::vector<uint32_t>& ranks);

// "1.9 cores"
std::string Cores(double cores);

void AddEvidence(v1::Trouble& trouble, const std::string& what, const std::string& value,
                 const std::string& source, bool against = false);
// The ranks and their nodes, each once.
void AddRank(const v1::Board& board, uint32_t rank, v1::Trouble& trouble);
// Of a node and all of its ranks; `what` follows its address.
v1::Trouble OfNode(const v1::Board& board, int node, v1::Trouble::Kind kind,
                   const std::string& what);

}  // namespace autodist::why
