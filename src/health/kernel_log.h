// Hardware faults in the kernel's log.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include "health/fault.h"

namespace autodist::health {

struct LogLine {
  std::string_view text;  // without time and priority
  std::chrono::seconds age{0};
};

// `lines`: the messages since the node was started, oldest first. What the driver of GPUs reports
// counts until a restart, all else for a day. `gpus`: how many the node has; 0: unknown. Faults of
// programs are no faults, except if they always hit the same GPU of several. Each kind of fault
// is found once for a device. Pure logic; the text is untrusted.
std::vector<Fault> FindInKernelLog(const std::vector<LogLine>& lines, size_t gpus);

}  // namespace autodist::health
