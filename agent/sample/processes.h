// The resource usage of the ranks' processes, including descendants, and the limits of their
// control groups.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/sample/kernel_file.h"
#include "autodist/v1/sample.pb.h"
#include "process/cgroup_folders.h"
#include "process/process_tree.h"

namespace autodist::agent {

// The fields of a process's stat file: "7 (name) S 1 ..."; the name may contain anything.
struct ProcessStat {
  char state = '?';
  pid_t parent = 0;
  uint64_t cpu = 0;      // the kernel's ticks, including reaped children
  uint64_t own_cpu = 0;  // without reaped children
  uint32_t threads = 0;
  uint64_t started = 0;   // ticks since the machine was started
  uint64_t resident = 0;  // pages
  // Where its stack pointer was when the program started; 0: hidden from us.
  uint64_t stack_start = 0;
};
std::optional<ProcessStat> ParseProcessStat(std::string_view stat);
// Of a process or thread, by its folder of /proc; nullopt: it has ended.
std::optional<ProcessStat> ReadProcessStat(const std::string& folder);

// Bytes from and to storage, including reaped children; from the io file.
struct ProcessIo {
  uint64_t read = 0;
  uint64_t written = 0;
};
std::optional<ProcessIo> ParseProcessIo(std::string_view io);

// Lists all processes of the machine for each sample, but only reads those that belong to ranks or
// are new. Not thread-safe.
class ProcessReader {
 public:
  // `source`: for the processes of new ranks.
  explicit ProcessReader(const std::string& proc_folder,
                         process::TreeSource source = process::BestTreeSource());

  // `ranks`: the running processes, by rank. Adds ranks in order, without `silent_ms`.
  void Read(const std::map<uint32_t, pid_t>& ranks, SampleTime now, v1::NodeSample& sample);

  // Whether it was a process of a rank at the last read.
  bool IsRanks(pid_t pid) const { return members_.contains(pid); }

 private:
  // A process of a rank.
  struct Member {
    uint32_t rank = 0;
    uint64_t started = 0;  // with the PID it is unique
    ProcessStat stat;
    std::optional<ProcessIo> io;
    bool seen = false;
  };
  struct Newcomer {
    pid_t pid;
    ProcessStat stat;
  };
  struct Total {
    pid_t pid = 0;  // of the rank itself
    uint64_t cpu = 0;
    uint64_t read = 0;
    uint64_t written = 0;
    Rate cpu_rate;
    Rate read_rate;
    Rate written_rate;
    Rate awaited_rate;
  };

  void LookAtAll(const std::map<uint32_t, pid_t>& ranks);
  void ForgetOthers(const std::map<uint32_t, pid_t>& ranks);
  void LookAt(pid_t pid);
  std::optional<ProcessStat> StatOf(pid_t pid);
  void AddRanks(const std::map<uint32_t, pid_t>& ranks);
  void Adopt();
  void ReadIo();
  // Returns how long the main thread was runnable but had to wait.
  std::optional<uint64_t> AwaitedBy(pid_t pid);
  void Report(uint32_t rank, Total& total, SampleTime now, v1::RankSample& reading);

  const process::TreeSource source_;
  TextBuffer buffer_;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder_;  // null: not available
  std::unordered_map<pid_t, Member> members_;
  std::vector<pid_t> all_;     // ascending
  std::vector<pid_t> others_;  // ascending: processes of no rank
  std::vector<pid_t> others_before_;
  std::vector<Newcomer> newcomers_;
  std::map<uint32_t, Total> totals_;
  uint32_t samples_ = 0;
};

// The limits of the ranks' control groups, and how often they are reached. Files: the kernel's
// cgroup-v2.rst, cgroup-v1/memory.rst and scheduler/sched-bwc.rst.
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
