// A node's CPUs, memory, pressure and disks, from Linux: proc(5), and in the kernel's documentation
// accounting/psi and admin-guide/iostats.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "agent/sample/kernel_file.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

// The contents of the files.

struct CpuTimes {
  uint64_t busy = 0;   // of all CPUs together, in the kernel's ticks
  uint64_t total = 0;  // of all CPUs together, in the kernel's ticks
  uint32_t cores = 0;
};
std::optional<CpuTimes> ParseCpuTimes(std::string_view stat);

struct MemoryUse {
  uint64_t used = 0;  // bytes
  uint64_t total = 0;
};
std::optional<MemoryUse> ParseMemory(std::string_view meminfo);

// Returns the share of the last 10 s in which some process waited: 0 to 1.
std::optional<double> ParsePressure(std::string_view pressure);

struct DiskBytes {
  uint64_t read = 0;
  uint64_t written = 0;
  int disks = 0;
};
// Sums the disks that count, selected by name.
DiskBytes ParseDisks(std::string_view diskstats,
                     const std::function<bool(std::string_view name)>& counts);

// Not thread-safe.
class HostReader {
 public:
  HostReader(const std::string& proc_folder, const std::string& sys_folder);

  // Returns a HostSample without disk space. The first has no `cpu` and no rates.
  v1::HostSample Read(SampleTime now);

 private:
  void ReadCpu(v1::HostSample& host);
  void ReadDisks(v1::HostSample& host, SampleTime now);
  bool IsDisk(std::string_view name);

  const std::string block_folder_;
  TextBuffer buffer_;
  KernelFile stat_;
  KernelFile meminfo_;
  KernelFile cpu_pressure_;
  KernelFile memory_pressure_;
  KernelFile io_pressure_;
  KernelFile diskstats_;
  std::optional<CpuTimes> cpu_before_;
  Rate disk_read_;
  Rate disk_write_;
  std::map<std::string, bool, std::less<>> is_disk_;  // known names
};

// The free space of the file system with a folder. Asks on a separate thread, for which no call
// waits, because an unreachable file server blocks forever. Thread-safe; no call blocks.
class DiskSpace {
 public:
  struct Space {
    uint64_t free = 0;  // bytes available to users
    uint64_t total = 0;
  };

  explicit DiskSpace(std::string folder);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // Returns the latest result, and starts the next query. nullopt: unknown, still in progress, or
  // no thread could be started.
  std::optional<Space> Last();

 private:
  // Shared by both threads.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex.
    bool asked = true;
    bool over = false;
    std::optional<Space> space;
  };
  static void Ask(const std::shared_ptr<Shared>& shared, const std::string& folder);

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace autodist::agent
