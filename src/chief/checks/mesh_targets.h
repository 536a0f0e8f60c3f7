// Which nodes try to connect to which.
#pragma once

#include <cstdint>
#include <vector>

namespace autodist::chief {

// Up to this many nodes each tries all others: beyond, it would be tens of thousands of
// connections.
inline constexpr uint32_t kLargestFullMesh = 64;

// Whom `node`, one of `nodes`, tries, in order. `full`: all others. Otherwise its neighbours in a
// ring, those at each power of two along it, so that each is tried by as many as it tries itself,
// and the first, where all ranks meet.
std::vector<uint32_t> MeshTargets(uint32_t node, uint32_t nodes, bool full);

}  // namespace autodist::chief
