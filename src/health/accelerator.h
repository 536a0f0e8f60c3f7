// Signs of GPUs and NPUs of any maker.
#pragma once

#include <string>

namespace autodist::health {

// Whether the machine may have one: a driver, a device file, or a GPU of NVIDIA's on the PCI bus.
// `root`: "" or a folder with copies of /dev, /proc and /sys. Reads folders; never waits for a GPU.
bool MayHaveAccelerator(const std::string& root = "");

}  // namespace autodist::health
