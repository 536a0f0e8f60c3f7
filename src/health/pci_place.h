// The location of a GPU on the PCI bus. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace autodist::health {

// Domain, bus and device as one number.
using PciPlace = uint64_t;

// Parses "00000000:3B:00.0" of nvidia-smi and "0000:3b:00" of the kernel, which mean the same.
std::optional<PciPlace> ParsePciPlace(std::string_view text);

}  // namespace autodist::health
