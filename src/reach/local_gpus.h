// The GPUs of the machine that autodist runs on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "reach/gpu_count.h"

namespace autodist::reach {

struct VisibleGpus {
  std::vector<uint32_t> gpus;
  // One for each GPU or empty, as in spec::Node.
  std::vector<std::string> uuids = {};
  std::string warning = {};  // about what is probably not intended

  bool operator==(const VisibleGpus&) const = default;
};

// Parses CUDA_VISIBLE_DEVICES like CUDA. Returns the devices that the value names; none if it
// excludes all (an empty value, -1, "none", "void", "NoDevFiles"). `present`: the number of GPUs of
// the machine; nullopt: unknown. kInvalidArgument, with the value in quotes, if CUDA would see
// other devices than intended.
Result<VisibleGpus> ReadVisibleGpus(std::string_view value, std::optional<uint32_t> present);

struct LocalGpus {
  VisibleGpus visible;
  // Why no GPU is used: "no GPU found". Empty if there are GPUs, and if CUDA_VISIBLE_DEVICES
  // excludes all of them on a machine without any.
  std::string none;
  bool asked_for = false;  // whether CUDA_VISIBLE_DEVICES names GPUs
  // Why it is not known which GPUs there are; `visible` and `none` are empty then.
  Status uncounted = {};
  bool has_driver = true;  // false: no rank can use the uncounted GPUs

  bool operator==(const LocalGpus&) const = default;
};

// Returns the value of an environment variable; nullopt if it is not set.
using VariableOf = std::function<std::optional<std::string>(const std::string& name)>;

// kInvalidArgument if CUDA would not understand the value of CUDA_VISIBLE_DEVICES.
Result<LocalGpus> ChooseLocalGpus(const VariableOf& variable, const GpuCount& present);

// The same for this machine: the GPUs of CUDA_VISIBLE_DEVICES, or else all of the NVIDIA driver.
// Runs nvidia-smi unless files show the number of GPUs, and then blocks for `limit` at most; a long
// wait is logged.
Result<LocalGpus> FindLocalGpus(std::chrono::milliseconds limit);

}  // namespace autodist::reach
