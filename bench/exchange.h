// Exchanges data between pairs of nodes, and between the devices of a node, as one rank of a job.
#pragma once

#include <chrono>

#include "autodist/client.h"
#include "autodist/communicator.h"
#include "autodist/v1/burn.pb.h"
#include "device.h"

namespace autodist::bench {

// Every rank calls it. In each round, each rank exchanges data with the rank of the same local rank
// on the node's partner; on GPUs, a round within each node precedes them. `time`: of all
// rounds together. `max_bytes`: for this rank's data. Blocks. Fails if a peer takes much longer.
Result<v1::ExchangeResult> Exchange(std::chrono::milliseconds time, uint64_t max_bytes,
                                    const Client& client, Device& device, Communicator& ring);

}  // namespace autodist::bench
