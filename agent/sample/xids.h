// Messages of NVIDIA's driver about GPUs in the kernel's log.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "agent/sample/gpu_rows.h"
#include "process/kernel_log.h"

namespace autodist::agent {

// The last one of each GPU. For one thread; never blocks.
class Xids {
 public:
  // Reads new messages. `is_jobs`: whether a process belongs to the job.
  void Read(const std::function<bool(pid_t pid)>& is_jobs);
  std::optional<uint32_t> Last(health::PciPlace gpu) const;

 private:
  process::KernelLog log_;
  std::map<health::PciPlace, uint32_t> last_;
};

}  // namespace autodist::agent
