// Runs programs that show the stacks of other processes: py-spy for Python, and gdb.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "base/deadline.h"
#include "process/environment.h"

namespace autodist::agent {

// Returns when the process was started, in the kernel's ticks; 0: it has ended.
uint64_t StartTime(pid_t pid);

struct LookedAt {
  pid_t pid = 0;
  uint64_t started = 0;          // StartTime, because the PID may be reused
  bool stopped = false;          // by a signal, not because the job is suspended
  bool uninterruptible = false;  // in the kernel: gdb may wait for it forever
};

class StackPrograms {
 public:
  // `limit`: for one process. Uses programs in the PATH of `rank_environment`.
  StackPrograms(Supervisor& supervisor, const process::Environment& rank_environment,
                std::chrono::milliseconds limit);

  bool has_any() const { return has_py_spy_ || has_gdb_; }
  // Whether it is stopped, or about to be, because the job is suspended.
  bool IsSuspended(pid_t pid) const;

  // Returns lines by process: "  user-space stacks by gdb:" with its output, or why there are no
  // stacks. Processes are stopped meanwhile, and resumed afterwards if they ran before. Blocks:
  // starts no program after a minute.
  std::map<pid_t, std::string> StacksOf(const std::vector<LookedAt>& processes);

 private:
  bool Has(const std::string& program) const;
  void LeaveAsItWas(const LookedAt& process) const;
  std::string ByPySpy(const LookedAt& process);
  std::map<pid_t, std::string> ByGdb(const std::vector<LookedAt>& processes);

  Supervisor& supervisor_;
  const process::Environment environment_;
  const std::chrono::milliseconds limit_;
  const base::Deadline deadline_;
  const bool has_py_spy_;
  const bool has_gdb_;
};

}  // namespace autodist::agent
