// Detects whether the kernel's out-of-memory killer ended a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process/cgroup_folders.h"
#include "process/kernel_log.h"

namespace autodist::process {

// The control groups that limit this process's memory, of either version. Sources: the kernel's
// cgroup-v2.rst and cgroup-v1/memory.rst.
class MemoryCgroup {
 public:
  explicit MemoryCgroup(CgroupFolder folder) : folder_(std::move(folder)) {}

  // Each returns 0 if unknown.
  uint64_t OomKills() const;   // so far, of processes in it; in version 2 also in groups below it
  uint64_t LimitHits() const;  // so far: how often it reached its own limit
  uint64_t Limit() const;      // bytes; 0 also without a limit
  uint64_t Peak() const;       // bytes: maximum usage
  // Whether the limit has been reached since LimitHits() returned `limit_hits`. Version 1 does not
  // count hits, so there it means: ever reached.
  bool ReachedLimitSince(uint64_t limit_hits) const;
  bool exists() const;

 private:
  // The path of the group's file: the first name in version 2, the second in version 1.
  std::string File(const char* version_2, const char* version_1) const;

  CgroupFolder folder_;
};

// Returns the groups of this process: its own, and the visible ones above it.
std::vector<MemoryCgroup> OurMemoryCgroups();

// The same for the text of a /proc/PID/cgroup, below this folder.
std::vector<MemoryCgroup> MemoryCgroupsOf(const std::string& proc_cgroup,
                                          const std::string& mounts = "/sys/fs/cgroup");

// Memory usage at an out-of-memory kill.
struct OomKill {
  bool of_cgroup = false;  // false: the machine's memory was used up
  uint64_t used = 0;       // bytes: by the cgroup, or by the process; 0: unknown
  uint64_t limit = 0;      // bytes that are available; 0: unknown
};

// Parses the kernel's messages line by line.
class OomLogReader {
 public:
  struct Kill {
    pid_t pid;                 // in the machine's PID namespace
    std::optional<uid_t> uid;  // missing in older kernels
    OomKill how;
  };
  // Call with each line of the log; returns nullopt for most.
  std::optional<Kill> Take(std::string_view line);

 private:
  bool of_cgroup_ = false;
  uint64_t used_ = 0;
  uint64_t limit_ = 0;
};

// Reads the kernel log for processes that the out-of-memory killer has ended. For one thread; never
// blocks.
class OomLog {
 public:
  // Skips earlier records.
  OomLog();

  // Whether the log is readable, and its PIDs are those of our PID namespace.
  bool TellsOurPids() const { return log_.readable() && our_pids_; }

  // Removes and returns the kill of this process. If the log has other PIDs, or the process is
  // unknown (0), it takes any kill of a process of this user.
  std::optional<OomKill> Take(pid_t pid);

 private:
  void Read();

  KernelLog log_;
  bool our_pids_ = false;
  OomLogReader reader_;
  std::vector<OomLogReader::Kill> kills_;
};

// Returns the number of out-of-memory kills on the machine since its start; nullopt if the kernel
// does not report it.
std::optional<uint64_t> OomKills();

// For one thread; blocks only on files of the kernel.
class OomWatch {
 public:
  OomWatch() { Begin(); }

  // Starts counting; earlier kills are ignored.
  void Begin();

  // Returns the kill of a child of ours that died of a SIGKILL that autodist did not send; each
  // kill is returned once. `pid` 0: a descendant of ours. nullopt: no kill, or unknown.
  std::optional<OomKill> KillOf(pid_t pid);

  // Returns the number of kills of any process on the machine; nullopt if it is unknown.
  std::optional<uint64_t> KillsSinceBegin() const;

 private:
  struct Counts {
    MemoryCgroup cgroup;
    uint64_t kills;
    uint64_t limit_hits;
  };

  OomLog log_;
  std::vector<Counts> counts_;  // the first element is our own cgroup
  std::optional<uint64_t> kills_before_;
};

}  // namespace autodist::process
