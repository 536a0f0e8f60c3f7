// The control groups that limit this process's memory, of either version. Sources: the kernel's
// cgroup-v2.rst and cgroup-v1/memory.rst.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "process/cgroup_folders.h"

namespace autodist::process {

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

}  // namespace autodist::process
