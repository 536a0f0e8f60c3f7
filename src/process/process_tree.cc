#include "process/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <ctime>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/wall_clock.h"

namespace autodist::process {
namespace {

constexpr size_t kLargestList = 64 << 20;  // bytes; enough for all processes of a machine
constexpr size_t kLargestStat = 4 << 10;   // bytes
constexpr int kMaxLooks = 100;

using Visit = std::function<void(pid_t)>;

// A field of /proc/PID/stat after the second, numbered as in proc(5); 0: no such process. The file
// has "7 (name) S 1 ..."; the name may contain anything, for example ") S 1".
template <typename Number>
Number FieldOf(pid_t pid, size_t number) {
  const auto stat = base::ReadFile("/proc/" + std::to_string(pid) + "/stat", kLargestStat);
  if (!stat.ok()) return 0;
  const auto fields = base::Split(std::string_view(*stat).substr(stat->rfind(')') + 1), ' ');
  return fields.size() > number - 2 ? base::ParseNumber<Number>(fields[number - 2]).value_or(0) : 0;
}

// Visits the direct children of `pid`, by its threads (proc(5), task/[tid]/children). The kernel
// may omit one while others come and go, so a caller who needs all must repeat it.
void VisitChildren(pid_t pid, const Visit& visit) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
  while (const dirent* task = folder ? readdir(folder.get()) : nullptr) {
    const auto list = base::ReadFile(tasks + "/" + task->d_name + "/children", kLargestList);
    if (!list.ok()) continue;
    std::istringstream numbers(*list);
    for (pid_t child = 0; numbers >> child;) visit(child);
  }
}

void VisitProcesses(const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec == std::errc()) visit(pid);
  }
}

// Visits each child as soon as its parent is known, because it may end soon.
void VisitByChildLists(pid_t ancestor, const Visit& visit) {
  std::vector<pid_t> found{ancestor};
  for (size_t i = 0; i < found.size(); ++i) {
    VisitChildren(found[i], [&](pid_t child) {
      found.push_back(child);
      visit(child);
    });
  }
}

// The same by parents. Most parents have smaller numbers than their children, and come first.
void VisitByParents(pid_t ancestor, const Visit& visit) {
  std::set<pid_t> known{ancestor};
  for (bool more = true; more;) {
    more = false;
    VisitProcesses([&](pid_t pid) {
      if (known.contains(pid) || !known.contains(ParentOf(pid))) return;
      known.insert(pid);
      more = true;
      visit(pid);
    });
  }
}

void VisitDescendants(pid_t ancestor, TreeSource source, const Visit& visit) {
  if (source == TreeSource::kChildLists) {
    VisitByChildLists(ancestor, visit);
  } else {
    VisitByParents(ancestor, visit);
  }
}

}  // namespace

pid_t ParentOf(pid_t pid) { return FieldOf<pid_t>(pid, 4); }

int64_t StartOf(pid_t pid) {
  const auto ticks = FieldOf<int64_t>(pid, 22);  // since boot
  timespec boot{};
  if (ticks == 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0) return 0;
  const int64_t up_ms = int64_t{boot.tv_sec} * 1000 + boot.tv_nsec / 1'000'000;
  return base::MillisecondsSince1970() - up_ms + ticks * 1000 / sysconf(_SC_CLK_TCK);
}

bool IsDescendant(pid_t pid, pid_t ancestor) {
  while (pid > 0 && pid != ancestor) pid = ParentOf(pid);
  return pid == ancestor;
}

bool Signal(pid_t pid, int signal, const std::function<bool()>& is_meant) {
  const base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid() && (errno == ESRCH || errno == EINVAL)) return false;
  if (!process.valid()) return is_meant() && kill(pid, signal) == 0;
  return is_meant() && syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> all;
  VisitProcesses([&](pid_t pid) { all.push_back(pid); });
  return all;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

TreeSource BestTreeSource() {
  static const bool has_lists = access("/proc/thread-self/children", R_OK) == 0;
  return has_lists ? TreeSource::kChildLists : TreeSource::kAllProcesses;
}

std::vector<pid_t> Descendants(pid_t ancestor, TreeSource source) {
  std::vector<pid_t> found;
  VisitDescendants(ancestor, source, [&](pid_t pid) { found.push_back(pid); });
  return found;
}

void KillDescendants(pid_t ancestor, TreeSource source) {
  std::set<pid_t> killed;
  bool found = true;
  for (int look = 0; found && look < kMaxLooks; ++look) {
    found = false;
    VisitDescendants(ancestor, source, [&](pid_t pid) {
      if (killed.contains(pid)) return;
      found = true;
      Signal(pid, SIGKILL,
             [&] { return IsDescendant(pid, ancestor) && killed.insert(pid).second; });
    });
  }
}

}  // namespace autodist::process
