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
  // Why there is none to use: "no GPU found". Empty where there are some, and where
  // CUDA_VISIBLE_DEVICES says that none is wanted on a machine that has none.
  std::string none;
  bool asked_for = false;  // CUDA_VISIBLE_DEVICES names some

  bool operator==(const LocalGpus&) const = default;
};

// What is known of the machine.
struct GpusPresent {
  uint32_t nvidia = 0;  // of the driver
  bool others = false;  // accelerators of another maker
};

// The value of an environment variable; nullopt if it is not set.
using VariableOf = std::function<std::optional<std::string>(const std::string& name)>;

// kInvalidArgument where CUDA_VISIBLE_DEVICES says what CUDA does not understand.
Result<LocalGpus> ChooseLocalGpus(const VariableOf& variable, const GpusPresent& present);

// The same for this machine: CUDA_VISIBLE_DEVICES where it is set, else all that the NVIDIA driver
// has. May run nvidia-smi, and then blocks for kNvidiaSmiLimit at most; one that hangs is logged.
Result<LocalGpus> FindLocalGpus();

}  // namespace autodist::reach
