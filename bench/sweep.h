// Runs through all collective operations and sizes of a plan, as one rank of a job.
#pragma once

#include <cstdint>
#include <functional>

#include "autodist/communicator.h"
#include "autodist/v1/bench.pb.h"
#include "bandwidth.h"
#include "device.h"
#include "operation.h"

namespace autodist::bench {

struct Row {
  v1::Collective collective;
  Size size;
  double seconds;  // of one call, on the slowest rank
  Bandwidth bandwidth;
  uint64_t wrong;  // numbers, over all ranks
};

// Who looks at the results; on every rank the same.
struct Report {
  std::function<void(v1::Collective collective)> begin;
  std::function<void(const Row& row)> row;
  // That sizes from this one on need more memory than `free` bytes, which every rank may take.
  std::function<void(Size size, uint64_t free)> too_large;
};

// Gives how many numbers were wrong, over all ranks and sizes. Blocks until the last size is done.
Result<uint64_t> Sweep(const v1::BenchPlan& plan, Place place, uint64_t free_bytes, Device& device,
                       Communicator& ring, const Report& report);

}  // namespace autodist::bench
