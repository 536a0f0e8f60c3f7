// The work of a rank on a GPU.
#pragma once

#include <vector>

#include "cuda_driver.h"
#include "work.h"

namespace autodist::burn {

// Arithmetic on all processors, with results that are known exactly; copies within its memory, to
// the host and from it. `gpu` must outlive the result. Takes half of the free memory, at most 8
// GiB.
Result<std::vector<Work>> GpuWorks(CudaDevice& gpu);

}  // namespace autodist::burn
