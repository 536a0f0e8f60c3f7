// The control groups of a process, of either version: cgroups(7).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::process {

struct CgroupFolder {
  std::string path;
  bool version_2 = true;

  bool operator==(const CgroupFolder&) const = default;
};

// Returns the control groups that limit a process, its own first, from the text of a
// /proc/PID/cgroup and the mount point of control groups. `controller`: "cpu", "memory".
std::vector<CgroupFolder> CgroupFoldersOf(std::string_view proc_cgroup, std::string_view controller,
                                          const std::string& mounts);

}  // namespace autodist::process
