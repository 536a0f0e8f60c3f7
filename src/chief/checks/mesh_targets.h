// Chooses which nodes try to connect to which.
#pragma once

#include <cstdint>
#include <vector>

namespace autodist::chief {

// Up to this many nodes, each tries all others; more would need tens of thousands of connections.
inline constexpr uint32_t kLargestFullMesh = 64;

// Returns the targets of `node`, one of `nodes`, in order. `full`: all others. Otherwise its
// neighbours in a ring, the nodes at each power of two along it, so that each is tried as often as
// it tries others, and the first node, where all ranks meet.
std::vector<uint32_t> MeshTargets(uint32_t node, uint32_t nodes, bool full);

}  // namespace autodist::chief
