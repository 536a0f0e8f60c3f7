// The parts of a board as metrics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "autodist/v1/board.pb.h"
#include "metrics/family_set.h"

namespace autodist::metrics {

// What all need.
struct BoardView {
  const v1::Board& board;
  int64_t now_ms;  // since 1970

  Labels Job() const { return {{"job_id", board.job().job_id()}}; }
  Labels Node(const v1::BoardNode& node) const { return With(Job(), {{"node", node.address()}}); }
  Labels Rank(const v1::BoardRank& rank) const {
    return With(Job(), {{"rank", std::to_string(rank.rank())}, {"node", AddressOf(rank)}});
  }
  // Empty: it has none.
  std::string AddressOf(const v1::BoardRank& rank) const {
    if (rank.node() >= static_cast<uint32_t>(board.nodes_size())) return "";
    return board.nodes(static_cast<int>(rank.node())).address();
  }
  // Seconds from then on; nullopt where it is not known, or has not been.
  std::optional<double> SecondsSince(int64_t time_ms) const {
    if (time_ms == 0) return std::nullopt;
    return static_cast<double>(std::max<int64_t>(0, now_ms - time_ms)) / 1000;
  }
};

// Whether what was last heard of the node is how it is now.
bool IsHeard(const v1::BoardNode& node);

void AddJob(const BoardView& view, FamilySet& set);
void AddProgress(const BoardView& view, FamilySet& set);
void AddRanks(const BoardView& view, FamilySet& set);
void AddNodes(const BoardView& view, FamilySet& set);
void AddGpus(const BoardView& view, FamilySet& set);

}  // namespace autodist::metrics
