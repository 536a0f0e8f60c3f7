// Fakes of devices on the PCI bus.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace autodist::test {

// Adds a device to the copy of /sys in the folder: "0000:41:00.0", "0x10de", "0x030200".
inline void AddPciDevice(const std::string& folder, const std::string& address,
                         const std::string& vendor, const std::string& type) {
  const std::string device = folder + "/sys/bus/pci/devices/" + address;
  std::filesystem::create_directories(device);
  std::ofstream(device + "/vendor") << vendor << "\n";
  std::ofstream(device + "/class") << type << "\n";
}

}  // namespace autodist::test
