// Sizes and bandwidths of collective operations, as nccl-tests defines them.
#pragma once

#include <cstdint>
#include <vector>

#include "autodist/v1/bench.pb.h"

namespace autodist::bench {

// The size of one call. The bytes of an all-gather are those that every rank receives, those of a
// reduce-scatter or an all-to-all what every rank sends.
struct Size {
  uint64_t bytes;  // in total
  uint64_t count;  // elements per call, in the communicator's sense
};

// Returns the sizes from plan.from to plan.to, each plan.factor times the previous one. Rounds
// small sizes up to the minimum number of elements for every rank; removes duplicates.
std::vector<Size> SizesOf(const v1::BenchPlan& plan, v1::Collective collective,
                          uint32_t world_size);

struct Bandwidth {
  double algorithm;  // GB/s (10^9 bytes) of data for the caller
  double bus;        // GB/s through the slowest link, independent of the number of ranks
};

Bandwidth BandwidthOf(v1::Collective collective, uint64_t bytes, double seconds,
                      uint32_t world_size);

}  // namespace autodist::bench
