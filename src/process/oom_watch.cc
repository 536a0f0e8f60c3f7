#include "process/oom_watch.h"

#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "base/fd.h"
#include "base/split.h"

namespace autodist::process {
namespace {

constexpr size_t kMaxKills = 1'000;
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // the kernel's PROC_PID_INIT_INO
constexpr uint64_t kKibi = 1024;
constexpr size_t kMaxProgramName = 15;  // bytes of the name of a program, which may have any text

// Returns the number after `name` in the line.
std::optional<uint64_t> NumberAfter(std::string_view name, std::string_view line) {
  const size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + name.size());
  return base::TakeNumber<uint64_t>(line);
}

constexpr size_t kLargestCgroupFile = 1 << 16;
constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 uses a large number for it

std::string Text(const std::string& path) {
  return base::ReadFile(path, kLargestCgroupFile).value_or("");
}

// Returns 0 if the file has no number, such as "max".
uint64_t Number(const std::string& path) {
  const std::string text = Text(path);
  std::string_view rest = text;
  return base::TakeNumber<uint64_t>(rest).value_or(0);
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

uint64_t MemoryOfTheMachine() {
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? uint64_t{info.totalram} * info.mem_unit : 0;
}

}  // namespace

// Formats of Linux 3.10 to 6.18: mm/oom_kill.c and mm/memcontrol.c.
std::optional<OomLogReader::Kill> OomLogReader::Take(std::string_view line) {
  if (base::TakePrefix(line, "memory: usage ")) {
    const auto used = base::TakeNumber<uint64_t>(line);
    if (!used || !base::TakePrefix(line, "kB, limit ")) return std::nullopt;
    used_ = *used * kKibi;
    limit_ = base::TakeNumber<uint64_t>(line).value_or(0) * kKibi;
    return std::nullopt;
  }
  if (line.find(" invoked oom-killer: ") <= kMaxProgramName) *this = {};
  if (base::TakePrefix(line, "Memory cgroup out of memory: ")) of_cgroup_ = true;
  base::TakePrefix(line, "Out of memory: ");
  base::TakePrefix(line, "Out of memory (oom_kill_allocating_task): ");
  if (!base::TakePrefix(line, "Killed process ")) return std::nullopt;
  const auto pid = base::TakeNumber<pid_t>(line);
  if (!pid || *pid <= 0 || !line.starts_with(" (")) return std::nullopt;
  line.remove_prefix(line.rfind(')') + 1);  // the name of the program
  Kill kill{*pid, std::nullopt, {of_cgroup_, used_, limit_}};
  if (const auto uid = NumberAfter("UID:", line)) kill.uid = static_cast<uid_t>(*uid);
  if (!of_cgroup_) {
    kill.how = {};
    for (const char* part : {"anon-rss:", "file-rss:", "shmem-rss:"}) {
      kill.how.used += NumberAfter(part, line).value_or(0) * kKibi;
    }
  }
  of_cgroup_ = false;
  return kill;
}

OomLog::OomLog() {
  struct stat space;
  our_pids_ = stat("/proc/self/ns/pid", &space) == 0 && space.st_ino == kFirstPidNamespace;
}

void OomLog::Read() {
  log_.Read([this](const KernelRecord& record) {
    const auto kill = reader_.Take(record.line);
    if (kill && kills_.size() < kMaxKills) kills_.push_back(*kill);
  });
}

std::optional<OomKill> OomLog::Take(pid_t pid) {
  Read();
  const bool exact = our_pids_ && pid > 0;
  const auto found = std::ranges::find_if(kills_, [&](const OomLogReader::Kill& kill) {
    return exact ? kill.pid == pid : !kill.uid || *kill.uid == getuid();
  });
  if (found == kills_.end()) return std::nullopt;
  const OomKill how = found->how;
  kills_.erase(found);
  return how;
}

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

std::optional<uint64_t> OomKills() {
  std::ifstream counts("/proc/vmstat");
  std::string name;
  for (uint64_t count = 0; counts >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
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

std::optional<uint64_t> OomWatch::KillsSinceBegin() const {
  const auto kills = OomKills();
  if (!kills || !kills_before_) return std::nullopt;
  return *kills - std::min(*kills, *kills_before_);
}

}  // namespace autodist::process
