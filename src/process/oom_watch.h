// Whether it was the kernel's out-of-memory killer that ended a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "process/memory_cgroups.h"
#include "process/oom_log.h"

namespace autodist::process {

// The number of processes that the kernel has killed for want of memory, of the machine or of a
// cgroup, since it was started; 0 where it does not tell.
uint64_t OomKills();

// For one thread; never waits for anything but files of the kernel.
class OomWatch {
 public:
  OomWatch() { Begin(); }

  // What was before does not count.
  void Begin();

  // Of a process of ours that SIGKILL has ended, and that nobody here has sent it; each kill is
  // told once. 0: of one below it. nullopt: it was not so, or nothing tells.
  std::optional<OomKill> KillOf(pid_t pid);

  // Of processes on the machine, whosoever; 0 where the kernel does not tell.
  uint64_t KillsSinceBegin() const;

 private:
  struct Counts {
    MemoryCgroup cgroup;
    uint64_t kills;
    uint64_t limit_hits;
  };

  OomLog log_;
  std::vector<Counts> counts_;  // the first are those of our own cgroup
  uint64_t kills_before_ = 0;
};

}  // namespace autodist::process
