// Collects what NVIDIA's driver reports about GPUs while ranks run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/sample/gpu_rows.h"
#include "autodist/v1/session.pb.h"
#include "process/kernel_log.h"

namespace autodist::agent {

// Pure logic.
class GpuErrorFilter {
 public:
  // `gpus`: PCI addresses as /proc/driver/nvidia/gpus has them, "0000:3b:00.0".
  explicit GpuErrorFilter(const std::vector<std::string>& gpus);

  // Forgets what has been reported.
  void Clear() { reported_.clear(); }

  // Appends the error in the line, if there is one: each kind once for a GPU, and none of a program
  // that runs outside the job. `runs_elsewhere`: whether a process does.
  void Take(std::string_view line, const std::function<bool(pid_t pid)>& runs_elsewhere,
            std::vector<v1::GpuError>& errors);

 private:
  std::vector<health::PciPlace> gpus_;  // by their numbers in nvidia-smi
  std::set<std::pair<std::string, uint32_t>> reported_;
};

// For one thread; never blocks.
class GpuErrors {
 public:
  GpuErrors();

  // The first of an attempt: errors count from now on.
  void RankStarted(pid_t pid);
  // Returns the errors since the previous call.
  std::vector<v1::GpuError> RankEnded(pid_t pid);

 private:
  std::vector<v1::GpuError> Read();

  process::KernelLog log_;
  GpuErrorFilter filter_;
  std::set<pid_t> running_;
  std::set<pid_t> ended_;
};

}  // namespace autodist::agent
