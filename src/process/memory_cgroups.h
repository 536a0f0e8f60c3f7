// The control groups that limit this process's memory, of either version. Files and their meaning:
// the kernel's cgroup-v2.rst and cgroup-v1/memory.rst.
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

  // Each 0 where it is not known.
  uint64_t OomKills() const;   // so far, of processes in it; of version 2 also in those below it
  uint64_t LimitHits() const;  // so far: how often it was out of memory for its own limit
  uint64_t Limit() const;      // bytes; also 0: there is none
  uint64_t Peak() const;       // bytes: the most that it has used
  // Whether its limit has been reached since it had so many LimitHits. Version 1, which does not
  // count them, knows no more than that it ever was.
  bool ReachedLimitSince(uint64_t limit_hits) const;
  bool exists() const;

 private:
  // The file of the group that has this name in version 2, or this one in version 1.
  std::string File(const char* version_2, const char* version_1) const;

  CgroupFolder folder_;
};

// Of this process: its own, and those above it, as far as they can be seen.
std::vector<MemoryCgroup> OurMemoryCgroups();

// The same of what a /proc/PID/cgroup says, below this folder.
std::vector<MemoryCgroup> MemoryCgroupsOf(const std::string& proc_cgroup,
                                          const std::string& mounts = "/sys/fs/cgroup");

}  // namespace autodist::process
