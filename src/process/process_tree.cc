#include "process/process_tree.h"

#include <dirent.h>
#include <sys/prctl.h>

#include <memory>
#include <sstream>
#include <string>

#include "base/fd.h"

namespace autodist::process {
namespace {

constexpr size_t kLargestList = 64 << 20;  // bytes; every process of a machine fits

// The direct children of `pid`, by each of its threads (proc(5), task/[tid]/children). The kernel
// may leave one out while others come and go, so a caller who needs all must look again.
std::vector<pid_t> Children(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
  while (const dirent* task = folder ? readdir(folder.get()) : nullptr) {
    const auto list = base::ReadFile(tasks + "/" + task->d_name + "/children", kLargestList);
    if (!list.ok()) continue;
    std::istringstream numbers(*list);
    for (pid_t child = 0; numbers >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> Descendants(pid_t ancestor) {
  std::vector<pid_t> found = Children(ancestor);
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<pid_t> children = Children(found[i]);
    found.insert(found.end(), children.begin(), children.end());
  }
  return found;
}

}  // namespace autodist::process
