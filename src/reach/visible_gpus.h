// What CUDA_VISIBLE_DEVICES says, as CUDA reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::reach {

struct VisibleGpus {
  std::vector<uint32_t> gpus;
  // One for each, or none at all, as spec::Node has them.
  std::vector<std::string> uuids = {};
  std::string warning = {};  // what is probably not as it was meant

  bool operator==(const VisibleGpus&) const = default;
};

// The devices that the value names; none where it says that there are to be none (an empty value,
// -1, "none", "void", "NoDevFiles"). `present`: how many GPUs the machine has; nullopt: not known.
// kInvalidArgument, with the value in quotes, where CUDA would see other devices than are meant.
Result<VisibleGpus> ReadVisibleGpus(std::string_view value, std::optional<uint32_t> present);

}  // namespace autodist::reach
