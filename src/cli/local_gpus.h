// The GPUs of this machine, for a run without a spec.
#pragma once

#include <cstdint>
#include <vector>

namespace autodist::cli {

// CUDA device numbers: those in CUDA_VISIBLE_DEVICES where it is set, else all that the NVIDIA
// driver lists. Empty without a driver.
std::vector<uint32_t> LocalGpus();

}  // namespace autodist::cli
