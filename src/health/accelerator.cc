#include "health/accelerator.h"

#include <glob.h>

#include <algorithm>

#include "health/pci_place.h"

namespace autodist::health {
namespace {

// Of NVIDIA (dxg in WSL), of display adapters of all makers (dri), and of TPUs (vfio). Those of
// AMD, Ascend, Habana, AWS, Cambricon, and the kernel's accel class are also in
// scripts/devices.sh.
constexpr const char* kFiles[] = {"/proc/driver/nvidia", "/dev/nvidia[0-9]*", "/dev/nvidiactl",
                                  "/dev/nvidia-caps",    "/dev/dxg",          "/dev/nvgpu",
                                  "/dev/dri/render*",    "/dev/vfio/[0-9]*",  "/dev/kfd",
                                  "/dev/davinci*",       "/dev/hl[0-9]*",     "/dev/neuron[0-9]*",
                                  "/dev/cambricon*",     "/dev/accel*"};

}  // namespace

bool MayHaveAccelerator(const std::string& root) {
  const bool any = std::ranges::any_of(kFiles, [&](const char* file) {
    glob_t found{};
    const bool exists = glob((root + file).c_str(), GLOB_NOSORT, nullptr, &found) == 0;
    globfree(&found);
    return exists;
  });
  return any || HasNvidiaGpu(root);
}

}  // namespace autodist::health
