// Detects whether the kernel's out-of-memory killer ended a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "process/memory_cgroups.h"
#include "process/oom_log.h"

namespace autodist::process {

// Returns the number of out-of-memory kills on the machine or in a cgroup since its start; 0 if the
// kernel does not report it.
uint64_t OomKills();

// For one thread; blocks only on files of the kernel.
class OomWatch {
 public:
  OomWatch() { Begin(); }

  // Starts counting; earlier kills are ignored.
  void Begin();

  // Returns the kill of a child of ours that died of a SIGKILL that autodist did not send; each
  // kill is returned once. `pid` 0: a descendant of ours. nullopt: no kill, or unknown.
  std::optional<OomKill> KillOf(pid_t pid);

  // Returns the number of kills of any process on the machine; 0 if the kernel does not report it.
  uint64_t KillsSinceBegin() const;

 private:
  struct Counts {
    MemoryCgroup cgroup;
    uint64_t kills;
    uint64_t limit_hits;
  };

  OomLog log_;
  std::vector<Counts> counts_;  // the first element is our own cgroup
  uint64_t kills_before_ = 0;
};

}  // namespace autodist::process
