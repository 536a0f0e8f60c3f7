#include "pairing.h"

#include <algorithm>
#include <numeric>

namespace autodist::bench {
namespace {

constexpr size_t kFew = 5;  // two rounds do not show which one of so few is slow

void Pair(uint32_t one, uint32_t other, Partners& partners) {
  partners[one] = other;
  partners[other] = one;
}

// The circle method of tournaments: one node stays, the others turn around it; an odd number gets a
// node that does not exist, as the one that stays.
Partners Tournament(size_t round, size_t nodes) {
  const size_t turning = nodes % 2 == 0 ? nodes - 1 : nodes;
  Partners partners(nodes);
  if (turning < nodes) Pair(static_cast<uint32_t>(round), static_cast<uint32_t>(turning), partners);
  for (size_t k = 1; k <= turning / 2; ++k) {
    Pair(static_cast<uint32_t>((round + k) % turning),
         static_cast<uint32_t>((round + turning - k) % turning), partners);
  }
  return partners;
}

Partners Neighbours(size_t nodes) {
  Partners partners(nodes);
  for (uint32_t node = 0; node + 1 < nodes; node += 2) Pair(node, node + 1, partners);
  return partners;
}

Partners SlowWithFast(const std::vector<double>& rates) {
  std::vector<uint32_t> order(rates.size());
  std::iota(order.begin(), order.end(), 0);
  // Keeps the nodes of a pair together.
  std::ranges::stable_sort(order, {}, [&](uint32_t node) { return rates[node]; });
  Partners partners(rates.size());
  const size_t half = rates.size() / 2;
  for (size_t i = 0; i < half; ++i) Pair(order[i], order[i + half], partners);
  return partners;
}

}  // namespace

size_t RoundsOf(size_t nodes) {
  if (nodes < 2) return 0;
  if (nodes > kFew) return 2;
  return nodes % 2 == 0 ? nodes - 1 : nodes;
}

Partners PartnersIn(size_t round, const std::vector<double>& rates) {
  if (rates.size() <= kFew) return Tournament(round, rates.size());
  return round == 0 ? Neighbours(rates.size()) : SlowWithFast(rates);
}

}  // namespace autodist::bench
