// The limits of the ranks' control groups, and how often they are reached. Files: the kernel's
// cgroup-v2.rst, cgroup-v1/memory.rst and scheduler/sched-bwc.rst.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/sample/kernel_file.h"
#include "agent/sample/rate.h"
#include "autodist/v1/sample.pb.h"
#include "process/cgroup_folders.h"

namespace autodist::agent {

// Not thread-safe.
class CgroupReader {
 public:
  CgroupReader(std::string proc_folder, const std::string& sys_folder)
      : proc_folder_(std::move(proc_folder)), mounts_(sys_folder + "/fs/cgroup") {}

  // Adds the data of `ranks`, processes by rank, to those that are in the sample.
  void Read(const std::map<uint32_t, pid_t>& ranks, SampleTime now, v1::NodeSample& sample);

 private:
  struct Cpu {
    process::CgroupFolder of;
    double cores = 0;
    Rate periods;
    Rate throttled;
  };
  struct Memory {
    process::CgroupFolder of;
    uint64_t bytes = 0;
    Rate hits;
    Rate faults;
  };
  struct Rank {
    pid_t pid = 0;
    int looks = 0;  // samples until its groups and their limits are read again
    std::optional<Cpu> cpu;
    std::optional<Memory> memory;
  };
  void Update(Rank& rank);
  double CpuLimit(const process::CgroupFolder& of);
  uint64_t MemoryLimit(const process::CgroupFolder& of);
  // Returns the first number in a file; nullopt: not a number, such as "max".
  std::optional<uint64_t> NumberIn(const std::string& path);
  void TellCpu(Cpu& cpu, SampleTime now, v1::RankSample& reading);
  void TellMemory(Memory& memory, SampleTime now, v1::RankSample& reading);

  const std::string proc_folder_;
  const std::string mounts_;
  TextBuffer buffer_;
  std::map<uint32_t, Rank> ranks_;
};

}  // namespace autodist::agent
