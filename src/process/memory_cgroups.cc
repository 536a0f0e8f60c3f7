#include "process/memory_cgroups.h"

#include <unistd.h>

#include <charconv>
#include <sstream>

#include "base/fd.h"

namespace autodist::process {
namespace {

constexpr size_t kLargestCgroupFile = 1 << 16;
constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 uses a large number for it

std::string Text(const std::string& path) {
  return base::ReadFile(path, kLargestCgroupFile).value_or("");
}

// Returns 0 if the file has no number, such as "max".
uint64_t Number(const std::string& path) {
  const std::string text = Text(path);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Reads a file of lines "name number".
uint64_t NumberOf(const std::string& wanted, const std::string& path) {
  std::istringstream lines(Text(path));
  std::string name;
  for (uint64_t number = 0; lines >> name >> number;) {
    if (name == wanted) return number;
  }
  return 0;
}

}  // namespace

std::string MemoryCgroup::File(const char* version_2, const char* version_1) const {
  return folder_.path + (folder_.version_2 ? version_2 : version_1);
}

bool MemoryCgroup::exists() const {
  return access(File("/memory.events", "/memory.oom_control").c_str(), R_OK) == 0;
}

uint64_t MemoryCgroup::OomKills() const {
  return NumberOf("oom_kill", File("/memory.events", "/memory.oom_control"));
}

uint64_t MemoryCgroup::LimitHits() const {
  return folder_.version_2 ? NumberOf("oom", folder_.path + "/memory.events.local") : 0;
}

bool MemoryCgroup::ReachedLimitSince(uint64_t limit_hits) const {
  constexpr uint64_t kCharge = 1 << 20;  // the kernel charges many pages at a time
  const uint64_t limit = Limit();
  if (limit == 0) return false;
  return folder_.version_2 ? LimitHits() > limit_hits : Peak() + kCharge >= limit;
}

uint64_t MemoryCgroup::Limit() const {
  const uint64_t limit = Number(File("/memory.max", "/memory.limit_in_bytes"));
  return limit < kNoLimit ? limit : 0;
}

uint64_t MemoryCgroup::Peak() const {
  return Number(File("/memory.peak", "/memory.max_usage_in_bytes"));
}

std::vector<MemoryCgroup> OurMemoryCgroups() { return MemoryCgroupsOf(Text("/proc/self/cgroup")); }

std::vector<MemoryCgroup> MemoryCgroupsOf(const std::string& proc_cgroup,
                                          const std::string& mounts) {
  std::vector<MemoryCgroup> cgroups;
  for (CgroupFolder& folder : CgroupFoldersOf(proc_cgroup, "memory", mounts)) {
    const MemoryCgroup cgroup(std::move(folder));
    if (cgroup.exists()) cgroups.push_back(cgroup);
  }
  return cgroups;
}

}  // namespace autodist::process
