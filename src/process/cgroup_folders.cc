#include "process/cgroup_folders.h"

#include <algorithm>

#include "base/split.h"

namespace autodist::process {

// Lines are "4:cpu,cpuacct:/a/b" in version 1, "0::/a/b" in version 2, which lacks controllers that
// version 1 has mounted. In a container the path may be the host's; then the mount point is the
// outermost visible group.
std::vector<CgroupFolder> CgroupFoldersOf(std::string_view proc_cgroup, std::string_view controller,
                                          const std::string& mounts) {
  std::string path;
  bool version_2 = true;
  for (const std::string_view line : base::Lines(proc_cgroup)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const auto controllers = base::Split(line.substr(first + 1, second - first - 1), ',');
    const bool of_version_1 = std::ranges::find(controllers, controller) != controllers.end();
    if (!of_version_1 && (!controllers[0].empty() || !path.empty())) continue;
    path = line.substr(second + 1);
    version_2 = !of_version_1;
    if (of_version_1) break;
  }
  std::vector<CgroupFolder> folders;
  // A group outside of the mounted hierarchy is not visible.
  if (!path.starts_with('/') || path.find("/..") != std::string::npos) return folders;
  const std::string mount = mounts + (version_2 ? "" : "/" + std::string(controller));
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    folders.push_back({mount + path, version_2});
    if (path.empty()) return folders;
    path.resize(path.rfind('/'));
  }
}

}  // namespace autodist::process
