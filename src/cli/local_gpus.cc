#include "cli/local_gpus.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

namespace autodist::cli {

std::vector<uint32_t> LocalGpus() {
  std::vector<uint32_t> gpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    (void)entry;
    gpus.push_back(static_cast<uint32_t>(gpus.size()));
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible || gpus.empty()) return gpus;
  // CUDA itself stops at the first entry that is not a device, and so do we.
  const size_t present = gpus.size();
  gpus.clear();
  std::istringstream entries(visible);
  std::string entry;
  while (std::getline(entries, entry, ',')) {
    char* end = nullptr;
    const unsigned long device = std::strtoul(entry.c_str(), &end, 10);
    if (end == entry.c_str() || *end != '\0' || device >= present) break;
    gpus.push_back(static_cast<uint32_t>(device));
  }
  return gpus;
}

}  // namespace autodist::cli
