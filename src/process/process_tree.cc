#include "process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"

namespace autodist::process {
namespace {

struct Process {
  pid_t parent;
  bool zombie;
};

// From /proc/PID/stat, "pid (comm) state ppid ..." (proc(5)); comm may contain anything, so the
// fields are counted from the last ')'.
bool ReadProcess(const char* pid, Process& process) {
  const auto stat = base::ReadFile(std::string("/proc/") + pid + "/stat", 4096);
  if (!stat.ok()) return false;
  const size_t end_of_name = stat->rfind(')');
  char state = 0;
  return end_of_name != std::string::npos &&
         std::sscanf(stat->c_str() + end_of_name + 1, " %c %d", &state, &process.parent) == 2 &&
         (process.zombie = state == 'Z' || state == 'X', true);
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> Descendants(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
    Process process{};
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0 && ReadProcess(entry->d_name, process) && !process.zombie) {
      children.emplace(process.parent, pid);
    }
  }
  std::vector<pid_t> found;
  std::vector<pid_t> open = {ancestor};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

}  // namespace autodist::process
