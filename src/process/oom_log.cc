#include "process/oom_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace autodist::process {
namespace {

constexpr size_t kMaxKills = 1'000;
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;  // the kernel's PROC_PID_INIT_INO
constexpr uint64_t kKibi = 1024;

// Returns the number after `name` in the line.
std::optional<uint64_t> NumberAfter(std::string_view name, std::string_view line) {
  const size_t at = line.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  const char* begin = line.data() + at + name.size();
  const auto parsed = std::from_chars(begin, line.data() + line.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr == begin) return std::nullopt;
  return number;
}

}  // namespace

// Formats of Linux 3.10 to 6.18: mm/oom_kill.c and mm/memcontrol.c.
std::optional<OomLogReader::Kill> OomLogReader::Take(std::string_view line) {
  if (line.starts_with("memory: usage ")) {
    used_ = NumberAfter("usage ", line).value_or(0) * kKibi;
    limit_ = NumberAfter("limit ", line).value_or(0) * kKibi;
    return std::nullopt;
  }
  if (line.find("invoked oom-killer") != std::string_view::npos) *this = {};
  if (line.starts_with("Memory cgroup out of memory: ")) of_cgroup_ = true;
  const auto pid = NumberAfter("Killed process ", line);
  if (!pid) return std::nullopt;
  Kill kill{static_cast<pid_t>(*pid), std::nullopt, {of_cgroup_, used_, limit_}};
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
