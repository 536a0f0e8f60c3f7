#include "process/oom_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

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

}  // namespace autodist::process
