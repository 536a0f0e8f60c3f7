// Runs all collective operations and sizes of a plan, as one rank of a job.
#pragma once

#include <cstdint>

#include "autodist/communicator.h"
#include "autodist/v1/bench.pb.h"
#include "bandwidth.h"
#include "device.h"
#include "operation.h"
#include "table.h"

namespace autodist::bench {

// Returns the number of wrong numbers, over all ranks and sizes. Blocks until the last size is
// done.
Result<uint64_t> Sweep(const v1::BenchPlan& plan, Place place, uint64_t free_bytes, Device& device,
                       Communicator& ring, Printer& printer);

}  // namespace autodist::bench
