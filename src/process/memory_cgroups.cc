#include "process/memory_cgroups.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/fd.h"

namespace autodist::process {
namespace {

constexpr size_t kLargestCgroupFile = 1 << 16;
constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 has a number for it

std::string Text(const std::string& path) {
  return base::ReadFile(path, kLargestCgroupFile).value_or("");
}

// 0 where the file has none, such as "max".
uint64_t Number(const std::string& path) {
  const std::string text = Text(path);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Of a file of lines "name number".
uint64_t NumberOf(const std::string& wanted, const std::string& path) {
  std::istringstream lines(Text(path));
  std::string name;
  for (uint64_t number = 0; lines >> name >> number;) {
    if (name == wanted) return number;
  }
  return 0;
}

bool HasMemory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

bool MemoryCgroup::exists() const {
  return access((folder_ + (version_2_ ? "/memory.events" : "/memory.oom_control")).c_str(),
                R_OK) == 0;
}

uint64_t MemoryCgroup::OomKills() const {
  return NumberOf("oom_kill", folder_ + (version_2_ ? "/memory.events" : "/memory.oom_control"));
}

uint64_t MemoryCgroup::LimitHits() const {
  return version_2_ ? NumberOf("oom", folder_ + "/memory.events.local") : 0;
}

bool MemoryCgroup::ReachedLimitSince(uint64_t limit_hits) const {
  constexpr uint64_t kCharge = 1 << 20;  // the kernel takes many pages at a time
  const uint64_t limit = Limit();
  if (limit == 0) return false;
  return version_2_ ? LimitHits() > limit_hits : Peak() + kCharge >= limit;
}

uint64_t MemoryCgroup::Limit() const {
  const uint64_t limit = Number(folder_ + (version_2_ ? "/memory.max" : "/memory.limit_in_bytes"));
  return limit < kNoLimit ? limit : 0;
}

uint64_t MemoryCgroup::Peak() const {
  return Number(folder_ + (version_2_ ? "/memory.peak" : "/memory.max_usage_in_bytes"));
}

std::vector<MemoryCgroup> OurMemoryCgroups() { return MemoryCgroupsOf(Text("/proc/self/cgroup")); }

// Lines "4:memory:/a/b" of version 1, "0::/a/b" of version 2, which does without where the first
// has the controller. In a container the path may be one of outside, and its end is the mount.
std::vector<MemoryCgroup> MemoryCgroupsOf(const std::string& proc_cgroup,
                                          const std::string& mounts) {
  std::string path;
  bool version_2 = true;
  std::istringstream lines(proc_cgroup);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const bool of_version_1 = HasMemory(line.substr(first + 1, second - first - 1));
    if (!of_version_1 && (second != first + 1 || !path.empty())) continue;
    path = line.substr(second + 1);
    version_2 = !of_version_1;
    if (of_version_1) break;
  }
  std::vector<MemoryCgroup> cgroups;
  if (!path.starts_with('/') || path.find("/..") != std::string::npos) return cgroups;
  const std::string mount = mounts + (version_2 ? "" : "/memory");
  for (;;) {
    while (path.ends_with('/')) path.pop_back();
    const MemoryCgroup cgroup(mount + path, version_2);
    if (cgroup.exists()) cgroups.push_back(cgroup);
    if (path.empty()) return cgroups;
    path.resize(path.rfind('/'));
  }
}

}  // namespace autodist::process
