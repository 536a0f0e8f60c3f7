// Locations on the PCI bus.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::health {

// Domain, bus and device as one number.
using PciPlace = uint64_t;

// Parses "00000000:3B:00.0" of nvidia-smi and "0000:3b:00" of the kernel, which mean the same.
std::optional<PciPlace> ParsePciPlace(std::string_view text);

// Returns the GPUs of NVIDIA's driver, as nvidia-smi numbers them. `root`: "" or a folder with a
// copy of /proc. Reads a folder; never waits for a GPU.
std::vector<PciPlace> GpusOfDriver(const std::string& root = "");

// Whether the PCI bus has a GPU of NVIDIA's, with or without a driver. `root`: "" or a folder with
// a copy of /sys.
bool HasNvidiaGpu(const std::string& root = "");

}  // namespace autodist::health
