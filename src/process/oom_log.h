// Reads the kernel log for processes that the out-of-memory killer has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "process/kernel_log.h"

namespace autodist::process {

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

// For one thread; never blocks.
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

}  // namespace autodist::process
