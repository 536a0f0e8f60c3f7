// The one count of nodes: which nodes another attempt would have, now or after a wait. Nodes that
// are left keep their places, and spares take the places of the others. Pure logic.
#pragma once

#include <cstdint>
#include <vector>

namespace autodist::chief {

// How soon an attempt could have a node, in order.
enum class Availability : uint8_t {
  kNever,      // further attempts do without it
  kReturning,  // it is not connected, or about to be taken away; it may return
  kConnected,  // what runs or is prepared there has to end first
  kIdle,       // nothing of an earlier attempt is left there
};

// A node of the job.
struct Candidate {
  Availability available = Availability::kNever;
  uint32_t gpus = 0;  // as the spec lists them
  uint32_t cpus = 0;
};

// What an attempt should have.
struct Places {
  // The nodes of the previous attempt; for the first one, those that it should have.
  std::vector<uint32_t> nodes;
  uint32_t min_nodes = 0;  // 0: all places have to be filled
};

struct Choice {
  std::vector<uint32_t> members;  // nodes in the order of their places, without empty places
  // With the spares that have moved; a missing node keeps its place if no spare can take it.
  std::vector<uint32_t> places;
  uint32_t empty = 0;     // places for which no node is available
  uint32_t needed = 0;    // the number of members without which there is no attempt
  bool suffices = false;  // there are as many
};

// Chooses among nodes that are at least that available. A spare, which is a node that has no place,
// takes that of a missing node with as many devices: the world size stays the same.
Choice ChooseMembers(const Places& places, const std::vector<Candidate>& nodes,
                     Availability at_least);

}  // namespace autodist::chief
