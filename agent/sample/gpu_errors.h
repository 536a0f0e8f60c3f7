// What NVIDIA's driver reports about GPUs in the kernel's log.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/v1/session.pb.h"
#include "health/pci_place.h"
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

// Pure logic.
class GpuErrorFilter {
 public:
  // `gpus`: as health::GpusOfDriver returns them. Others have no errors.
  explicit GpuErrorFilter(std::vector<health::PciPlace> gpus) : gpus_(std::move(gpus)) {}

  // Forgets what has been reported.
  void Clear() { reported_.clear(); }

  // Appends the error in the line, if there is one: each kind once for a GPU, and none of a program
  // that runs outside the job. `runs_elsewhere`: whether a process does.
  void Take(std::string_view line, const std::function<bool(pid_t pid)>& runs_elsewhere,
            std::vector<v1::GpuError>& errors);

 private:
  const std::vector<health::PciPlace> gpus_;
  std::set<std::pair<std::string, uint32_t>> reported_;
};

// For one thread; never blocks.
class GpuErrors {
 public:
  // `root`: "" or a folder with a copy of /proc.
  explicit GpuErrors(const char* log = "/dev/kmsg", const std::string& root = "");

  // The first of an attempt: errors count from now on, and those after which a GPU cannot be
  // trusted from the end of the previous attempt's last rank on: the driver may report them late.
  void RankStarted(pid_t pid);
  // Returns the errors since the previous call.
  std::vector<v1::GpuError> RankEnded(pid_t pid);

 private:
  std::vector<v1::GpuError> Read();

  process::KernelLog log_;
  GpuErrorFilter filter_;
  std::set<pid_t> running_;
  std::set<pid_t> ended_;
  std::vector<v1::GpuError> late_;
};

}  // namespace autodist::agent
