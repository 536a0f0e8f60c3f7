// Faults of network ports and PCIe links, from /sys. Formats: Documentation/ABI of Linux, files
// stable/sysfs-class-infiniband, testing/sysfs-class-net and testing/sysfs-bus-pci.
#pragma once

#include <string>
#include <vector>

#include "health/fault.h"

namespace autodist::health {

// Compares ports, and devices of the same kind, with each other: what one alone should reach is
// unknown. `root`: "" or a folder with a copy of /sys. Reads some hundred small files; does not
// wait for devices.
std::vector<Fault> FindInLinks(const std::string& root);

}  // namespace autodist::health
