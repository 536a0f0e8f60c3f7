// Messages of NVIDIA's driver about GPUs in the kernel's log.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "agent/sample/gpu_rows.h"
#include "process/kernel_log.h"

namespace autodist::agent {

// "NVRM: Xid (PCI:0000:3b:00): 43, pid=4711, name=python3, channel 0x00000002"
struct Xid {
  PciPlace place;
  uint32_t number;
  // In the machine's PID namespace, even in a container; absent: unknown.
  std::optional<pid_t> pid;

  // Whether NVIDIA's list of XIDs attributes it to a program, for example an invalid address, and
  // not to the GPU.
  bool IsOfProgram() const;
};
std::optional<Xid> ParseXid(std::string_view log_line);

// The last one of each GPU. For one thread; never blocks.
class Xids {
 public:
  // Reads new messages. `is_jobs`: whether a process belongs to the job.
  void Read(const std::function<bool(pid_t pid)>& is_jobs);
  std::optional<uint32_t> Last(PciPlace gpu) const;

 private:
  process::KernelLog log_;
  std::map<PciPlace, uint32_t> last_;
};

}  // namespace autodist::agent
