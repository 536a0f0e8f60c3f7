// Hardware faults in the output of `nvidia-smi -q -x`, of drivers from 450 on. Source: the manual
// page of nvidia-smi. Elements that a driver or a GPU lacks are not checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "health/fault.h"
#include "health/pci_place.h"

namespace autodist::health {

// Where nvidia-smi may be, besides PATH; see scripts/devices.sh.
inline constexpr char kUsualFolders[] = "/usr/bin:/usr/lib/wsl/lib";

// An exit code that is only a warning, after the whole answer: nvidia-smi(1).
inline constexpr int kBadInfoRom = 14;

// A GPU as nvidia-smi describes it.
struct GpuDescription {
  std::string bus_id;  // "00000000:3B:00.0"
  std::map<std::string, std::string>
      values;            // by path, "pci/pci_gpu_link_info/link_widths/max_link_width"
  size_t processes = 0;  // that use it; their values have texts of any user and are not kept
};

// In the order of their numbers. kInvalidArgument: it is not XML, or describes no GPU, for example
// because it was cut off. `xml` is untrusted.
Result<std::vector<GpuDescription>> ParseGpus(std::string_view xml);

// Pure logic.
std::vector<Fault> FindInGpus(const std::vector<GpuDescription>& gpus);
// The same for one GPU, without a comparison with others.
std::vector<Fault> FindInGpu(const GpuDescription& gpu, uint32_t number);

// Returns where the device of a fault is whose subject is an address, "GPU 0000:3b:00".
std::optional<PciPlace> PlaceOf(const Fault& fault);

// Replaces "GPU 0000:3b:00", and "PCI device 0000:3b:00.0" of a GPU, by the number of the GPU.
// `places`: as GpusOfDriver returns them. Such faults are warnings if nvidia-smi says that the GPU
// needs no recovery action, or, with a driver that does not say it, if the GPU answers and has no
// fatal fault: the log also has what was mended since.
void RelateToGpus(const std::vector<PciPlace>& places, const std::vector<GpuDescription>& gpus,
                  std::vector<Fault>& faults);

// For an nvidia-smi that failed: what its output, or the lack of any, says. `printed`: both
// streams. The subject may be "GPU 0000:3B:00.0", by its address.
std::vector<Fault> FindInFailure(std::string_view printed);

}  // namespace autodist::health
