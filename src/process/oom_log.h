// What the kernel's log tells of processes that it has killed for want of memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "process/kernel_log.h"

namespace autodist::process {

// Whose memory was used up.
struct OomKill {
  bool of_cgroup = false;  // else the machine's
  uint64_t used = 0;       // bytes: by the cgroup, or by the process; 0: not known
  uint64_t limit = 0;      // bytes that there are; 0: not known
};

// The kernel's words, a line at a time.
class OomLogReader {
 public:
  struct Kill {
    pid_t pid;                 // as the machine numbers them
    std::optional<uid_t> uid;  // older kernels do not tell
    OomKill how;
  };
  // As log lines come; nullopt for most.
  std::optional<Kill> Take(std::string_view line);

 private:
  bool of_cgroup_ = false;
  uint64_t used_ = 0;
  uint64_t limit_ = 0;
};

// For one thread; never blocks.
class OomLog {
 public:
  // What was said before does not count.
  OomLog();

  // Whether the log is ours to read, and tells of processes by the numbers that they have for us.
  bool TellsOurPids() const { return log_.readable() && our_pids_; }

  // Takes the kill of the process from what has been said; where the log has other numbers, or the
  // process is not known (0), that of any process of ours.
  std::optional<OomKill> Take(pid_t pid);

 private:
  void Read();

  KernelLog log_;
  bool our_pids_ = false;
  OomLogReader reader_;
  std::vector<OomLogReader::Kill> kills_;
};

}  // namespace autodist::process
