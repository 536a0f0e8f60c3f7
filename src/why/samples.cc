#include "why/samples.h"

#include <algorithm>
#include <cmath>

#include "base/quantity.h"

namespace autodist::why {

std::string Number(double value) {
  const auto whole = static_cast<size_t>(std::max(0LL, std::llround(value)));
  return base::Thousands(whole);
}

std::vector<int> Running(const v1::Board& board) {
  std::vector<int> nodes;
  for (int i = 0; i < board.nodes_size(); ++i) {
    if (board.nodes(i).phase() == v1::NODE_PHASE_RUNNING && board.nodes(i).has_sample()) {
      nodes.push_back(i);
    }
  }
  return nodes;
}

bool SampledSince(const v1::Board& before, const v1::Board& now, int node) {
  return node < before.nodes_size() && node < now.nodes_size() &&
         now.nodes(node).sample().time_ns() != before.nodes(node).sample().time_ns();
}

bool AllSampledSince(const v1::Board& before, const v1::Board& now) {
  return std::ranges::all_of(Running(before),
                             [&](int node) { return SampledSince(before, now, node); });
}

}  // namespace autodist::why
