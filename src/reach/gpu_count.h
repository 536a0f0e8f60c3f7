// Counts the NVIDIA GPUs of a machine from what it says about them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "autodist/status.h"

namespace autodist::reach {

struct GpuSigns {
  static constexpr uint32_t kNotListed = 256;  // the driver has a list, or there is no nvidia-smi
  static constexpr uint32_t kTimedOut = 124;   // as timeout(1) ends

  uint32_t driver = 0;  // GPUs in the driver's list
  uint32_t files = 0;   // device files
  bool on_bus = false;  // whether the PCI bus has a device of NVIDIA's; asked if nvidia-smi fails
  uint32_t status = kNotListed;  // exit code of `nvidia-smi -L`
  std::string printed = {};      // on both streams
};

// Returns the time that nvidia-smi gets if a machine has to answer within `limit`.
std::chrono::seconds ListingLimit(std::chrono::milliseconds limit);

// Returns the number of GPUs. kFailedPrecondition, with the message of nvidia-smi, if they cannot
// be counted: such GPUs are not missing GPUs. `limit`: the time that nvidia-smi had. Pure logic.
Result<uint32_t> CountGpus(const GpuSigns& signs, std::chrono::seconds limit);

}  // namespace autodist::reach
