#include "process/oom_watch.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace autodist::process {
namespace {

uint64_t MemoryOfTheMachine() {
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? uint64_t{info.totalram} * info.mem_unit : 0;
}

}  // namespace

uint64_t OomKills() {
  std::ifstream counts("/proc/vmstat");
  std::string name;
  for (uint64_t count = 0; counts >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

void OomWatch::Begin() {
  kills_before_ = OomKills();
  counts_.clear();
  for (const MemoryCgroup& cgroup : OurMemoryCgroups()) {
    counts_.push_back({cgroup, cgroup.OomKills(), cgroup.LimitHits()});
  }
}

std::optional<OomKill> OomWatch::KillOf(pid_t pid) {
  const bool counted = !counts_.empty() && counts_[0].cgroup.OomKills() > counts_[0].kills;
  const bool by_pid = pid > 0 && log_.TellsOurPids();
  // The log may report a process of another container, which our cgroup has not counted.
  if (!by_pid && !counted && !counts_.empty()) return std::nullopt;
  std::optional<OomKill> kill = log_.Take(pid);
  if (!by_pid && !counted && kill && kill->of_cgroup) return std::nullopt;
  if (!kill && (!counted || by_pid)) return std::nullopt;
  if (counted) ++counts_[0].kills;
  if (!kill) {
    kill.emplace();
    const auto full = std::ranges::find_if(counts_, [](const Counts& counts) {
      return counts.cgroup.ReachedLimitSince(counts.limit_hits);
    });
    if (full != counts_.end()) {
      kill = {true, full->cgroup.Peak(), full->cgroup.Limit()};
    }
  }
  if (!kill->of_cgroup) kill->limit = MemoryOfTheMachine();
  return kill;
}

uint64_t OomWatch::KillsSinceBegin() const {
  return OomKills() - std::min(OomKills(), kills_before_);
}

}  // namespace autodist::process
