// Sizes and bandwidths of collective operations, as nccl-tests defines them.
#pragma once

#include <cstdint>
#include <vector>

#include "autodist/v1/bench.pb.h"

namespace autodist::bench {

// How much one call moves. The bytes of an all-gather are those that it gives every rank, those of
// a reduce-scatter or an all-to-all what it takes from every rank.
struct Size {
  uint64_t bytes;  // in all
  uint64_t count;  // elements per call, as the communicator counts them
};

// The sizes from plan.from to plan.to, each plan.factor times the one before. Made larger where
// they are not so many elements for every rank; none comes twice.
std::vector<Size> SizesOf(const v1::BenchPlan& plan, v1::Collective collective,
                          uint32_t world_size);

struct Bandwidth {
  double algorithm;  // GB/s (10^9 bytes) of what the caller sees
  double bus;        // GB/s through the slowest link, whatever the number of ranks
};

Bandwidth BandwidthOf(v1::Collective collective, uint64_t bytes, double seconds,
                      uint32_t world_size);

}  // namespace autodist::bench
