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

  uint32_t driver = 0;  // GPUs in the driver's list; if there are any, the others are not asked for
  uint32_t files = 0;   // device files
  bool on_bus = false;  // whether the PCI bus has a GPU of NVIDIA's; asked without a list
  bool others = false;  // whether there are device files of another maker's accelerators
  uint32_t status = kNotListed;  // exit code of `nvidia-smi -L`
  std::string printed = {};      // on both streams
};

// Why the number of GPUs is unknown.
enum class Uncounted {
  kNone,        // it is known
  kFails,       // nvidia-smi fails, or the machine does not answer
  kNoDriver,    // there is neither nvidia-smi nor a driver: no rank can use the GPUs
  kOtherMaker,  // they are of another maker
};

struct GpuCount {
  uint32_t gpus = 0;
  std::string message = {};  // of nvidia-smi besides its list; with GPUs, a warning
  Uncounted uncounted = Uncounted::kNone;
  Status why = {};  // the error for `uncounted`

  bool operator==(const GpuCount&) const = default;
};

// Returns the time that nvidia-smi gets if a machine has to answer within `limit`.
std::chrono::seconds ListingLimit(std::chrono::milliseconds limit);

// Counts the GPUs. Those that cannot be counted are not missing GPUs. `limit`: the time that
// nvidia-smi had. Pure logic.
GpuCount CountGpus(const GpuSigns& signs, std::chrono::seconds limit);

}  // namespace autodist::reach
