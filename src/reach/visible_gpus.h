// Parses CUDA_VISIBLE_DEVICES like CUDA.
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
  // One for each GPU or empty, as in spec::Node.
  std::vector<std::string> uuids = {};
  std::string warning = {};  // about what is probably not intended

  bool operator==(const VisibleGpus&) const = default;
};

// Returns the devices that the value names; none if it excludes all (an empty value, -1, "none",
// "void", "NoDevFiles"). `present`: the number of GPUs of the machine; nullopt: unknown.
// kInvalidArgument, with the value in quotes, if CUDA would see other devices than intended.
Result<VisibleGpus> ReadVisibleGpus(std::string_view value, std::optional<uint32_t> present);

}  // namespace autodist::reach
