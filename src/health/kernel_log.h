// Hardware faults in the kernel's log.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "health/fault.h"
#include "health/pci_place.h"

namespace autodist::health {

struct LogLine {
  std::string_view text;  // without time and priority
  std::chrono::seconds age{0};
};

// `lines`: the kernel's own records since the node was started, oldest first. What the driver of
// GPUs reports counts until the driver is loaded again, all else for a day; errors of programs do
// not count. `gpus`: those of the driver; others have no faults. Each kind of fault is found once
// for a device. Pure logic; the text is untrusted.
std::vector<Fault> FindInKernelLog(const std::vector<LogLine>& lines,
                                   const std::vector<PciPlace>& gpus);

}  // namespace autodist::health
