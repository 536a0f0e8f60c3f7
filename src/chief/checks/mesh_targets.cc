#include "chief/checks/mesh_targets.h"

#include <set>

namespace autodist::chief {

std::vector<uint32_t> MeshTargets(uint32_t node, uint32_t nodes, bool full) {
  std::set<uint32_t> targets = {0, (node + nodes - 1) % nodes};
  for (uint32_t step = 1; step < nodes; step = full ? step + 1 : step * 2) {
    targets.insert((node + step) % nodes);
  }
  targets.erase(node);
  return {targets.begin(), targets.end()};
}

}  // namespace autodist::chief
