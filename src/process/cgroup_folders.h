// Which control groups a process is in, of either version: cgroups(7).
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

// By the text of a /proc/PID/cgroup, and where control groups are mounted: those that limit the
// process, its own first. `controller`: "cpu", "memory".
std::vector<CgroupFolder> CgroupFoldersOf(std::string_view proc_cgroup, std::string_view controller,
                                          const std::string& mounts);

}  // namespace autodist::process
