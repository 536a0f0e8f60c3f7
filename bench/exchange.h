// Exchanges data between pairs of nodes, and between the devices of a node, as one rank of a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "autodist/client.h"
#include "autodist/communicator.h"
#include "autodist/v1/burn.pb.h"
#include "device.h"

namespace autodist::bench {

// The partners of nodes, by node, chosen so that a slow node can be distinguished from its
// partners. The partner of a node's partner is the node; nullopt: it has none.
using Partners = std::vector<std::optional<uint32_t>>;

// Up to 5 nodes, each exchanges data with each other one; more nodes take two rounds.
size_t RoundsOf(size_t nodes);

// Returns who exchanges data in this round, from 0. In the second of two rounds, the slower half of
// the nodes meets the faster half, so that a node that a slow partner delayed gets a
// faster one; of an odd number, the fastest one is left out. `rates`: of the first round, by node,
// equal for both nodes of a pair, 0 without a partner. No pair is repeated.
Partners PartnersIn(size_t round, const std::vector<double>& rates);

// Every rank calls it. In each round, each rank exchanges data with the rank of the same local rank
// on the node's partner; on GPUs, a round within each node precedes them. `time`: of all
// rounds together. `max_bytes`: for this rank's data. Blocks. Fails if a peer takes much longer.
Result<v1::ExchangeResult> Exchange(std::chrono::milliseconds time, uint64_t max_bytes,
                                    const Client& client, Device& device, Communicator& ring);

}  // namespace autodist::bench
