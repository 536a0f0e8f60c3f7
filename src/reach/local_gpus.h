// The GPUs of the machine that autodist runs on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "reach/visible_gpus.h"

namespace autodist::reach {

struct LocalGpus {
  VisibleGpus visible;
  // Why no GPU is used: "no GPU found". Empty if there are GPUs, and if CUDA_VISIBLE_DEVICES
  // excludes all of them on a machine without any.
  std::string none;
  bool asked_for = false;  // whether CUDA_VISIBLE_DEVICES names GPUs

  bool operator==(const LocalGpus&) const = default;
};

// The accelerators of the machine.
struct GpusPresent {
  uint32_t nvidia = 0;  // according to the driver
  bool others = false;  // whether there are accelerators of another maker
};

// Returns the value of an environment variable; nullopt if it is not set.
using VariableOf = std::function<std::optional<std::string>(const std::string& name)>;

// kInvalidArgument if CUDA would not understand the value of CUDA_VISIBLE_DEVICES.
Result<LocalGpus> ChooseLocalGpus(const VariableOf& variable, const GpusPresent& present);

// The same for this machine: the GPUs of CUDA_VISIBLE_DEVICES, or else all of the NVIDIA driver.
// May run nvidia-smi, and then blocks for kNvidiaSmiLimit at most; a timeout is logged.
Result<LocalGpus> FindLocalGpus();

}  // namespace autodist::reach
