#include "bandwidth.h"

#include <algorithm>

namespace autodist::bench {
namespace {

constexpr uint64_t kElementSize = sizeof(float);

// The fraction of the bytes that passes a link in the optimal algorithm.
double BusFactor(v1::Collective collective, double ranks) {
  switch (collective) {
    case v1::COLLECTIVE_ALL_REDUCE:
      return 2 * (ranks - 1) / ranks;
    case v1::COLLECTIVE_ALL_GATHER:
    case v1::COLLECTIVE_REDUCE_SCATTER:
    case v1::COLLECTIVE_ALL_TO_ALL:
      return (ranks - 1) / ranks;
    default:
      return 1;
  }
}

// Aligns every rank's part for fast access on the device; small counts are unchanged.
uint64_t Aligned(uint64_t count) {
  constexpr uint64_t kNumbers = 16 / kElementSize;
  return count < kNumbers ? count : count / kNumbers * kNumbers;
}

}  // namespace

std::vector<Size> SizesOf(const v1::BenchPlan& plan, v1::Collective collective,
                          uint32_t world_size) {
  const bool in_parts = collective == v1::COLLECTIVE_ALL_GATHER ||
                        collective == v1::COLLECTIVE_REDUCE_SCATTER ||
                        collective == v1::COLLECTIVE_ALL_TO_ALL;
  const uint64_t parts = in_parts ? world_size : 1;
  const uint64_t unit = kElementSize * parts;
  std::vector<Size> sizes;
  for (uint64_t bytes = plan.from(); bytes <= plan.to(); bytes *= plan.factor()) {
    const uint64_t count = Aligned(std::max(bytes / unit, uint64_t{1}));
    if (sizes.empty() || sizes.back().count != count) sizes.push_back({count * unit, count});
    if (bytes > plan.to() / plan.factor()) break;  // prevents an overflow
  }
  return sizes;
}

Bandwidth BandwidthOf(v1::Collective collective, uint64_t bytes, double seconds,
                      uint32_t world_size) {
  const double algorithm = static_cast<double>(bytes) / 1e9 / seconds;
  return {algorithm, algorithm * BusFactor(collective, world_size)};
}

}  // namespace autodist::bench
