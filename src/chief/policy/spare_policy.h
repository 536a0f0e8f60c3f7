// Chooses the nodes of an attempt: nodes that are left keep their places, and spares take the
// places of the others. Pure logic.
#pragma once

#include <cstdint>
#include <vector>

namespace autodist::chief {

// A node of the job.
struct Candidate {
  bool available = false;  // connected, and it runs nothing of an earlier attempt
  uint32_t gpus = 0;       // as the spec lists them
  uint32_t cpus = 0;
};

struct Choice {
  std::vector<uint32_t> members;  // nodes in the order of their places, without empty places
  // With the spares that have moved; a missing node keeps its place if no spare can take it.
  std::vector<uint32_t> places;
  uint32_t empty = 0;  // places for which no node is available
};

// `places`: those of the previous attempt; for the first one, the nodes that it should have.
// A spare, which is an available node that has no place, takes that of a missing node with as many
// devices: the world size stays the same.
Choice ChooseMembers(const std::vector<uint32_t>& places, const std::vector<Candidate>& nodes);

}  // namespace autodist::chief
