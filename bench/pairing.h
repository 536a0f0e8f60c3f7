// Decides which nodes exchange data at the same time, so that a slow node can be distinguished from
// its partners. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace autodist::bench {

// By node. The partner of a node's partner is the node; nullopt: it has none.
using Partners = std::vector<std::optional<uint32_t>>;

// Up to 5 nodes, each exchanges data with each other one; more nodes take two rounds.
size_t RoundsOf(size_t nodes);

// Returns who exchanges data in this round, from 0. In the second of two rounds, the slower half of
// the nodes meets the faster half, so that a node that a slow partner delayed gets a
// faster one; of an odd number, the fastest one is left out. `rates`: of the first round, by node,
// equal for both nodes of a pair, 0 without a partner. No pair is repeated.
Partners PartnersIn(size_t round, const std::vector<double>& rates);

}  // namespace autodist::bench
