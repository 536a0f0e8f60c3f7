#include "agent/life/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <sstream>

#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestFile = 1 << 20;
constexpr long kCgroup2Magic = 0x63677270;  // linux/magic.h
constexpr int kMaxLooks = 100;
constexpr std::chrono::milliseconds kEmptyLimit{5000};  // a process may hang in the kernel

bool IsCgroup(const std::string& path) {
  struct statfs info;
  return statfs(path.c_str(), &info) == 0 && info.f_type == kCgroup2Magic;
}

// Returns the mount point of cgroup v2, alone or beside v1.
std::string MountPoint() {
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (IsCgroup(path)) return path;
  }
  return "";
}

// Returns the group of this process, "/..."; the line of cgroup v2 is "0::PATH".
std::string OurPath() {
  std::istringstream lines(base::ReadFile("/proc/self/cgroup", kLargestFile).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "";
}

bool IsMarked(const std::string& path) {
  for (const char* mark : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (getxattr(path.c_str(), mark, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

// The owner of a group may use it. Root owns all of them, and may use those that a manager such as
// systemd has marked as delegated.
bool IsDelegated(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && info.st_uid == geteuid() &&
         (geteuid() != 0 || IsMarked(path));
}

std::string NameFor(const JobFolder& folder) { return "autodist-" + folder.name(); }

bool Write(const std::string& file, const std::string& text, int flags = 0) {
  const base::UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC | flags, 0600));
  return fd.valid() && base::WriteAll(fd.get(), text, base::Deadline::Never()).ok();
}

}  // namespace

std::optional<Cgroup> Cgroup::Make(const JobFolder& folder) {
  const std::string mount = MountPoint();
  const std::string ours = OurPath();
  if (mount.empty() || ours.empty()) return std::nullopt;
  const std::string parent = ours == "/" ? mount : mount + ours;
  if (!IsDelegated(parent)) return std::nullopt;
  const std::string path = parent + "/" + NameFor(folder);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  Write(folder.cgroup(), path, O_CREAT | O_TRUNC);
  return Cgroup(path);
}

std::optional<Cgroup> Cgroup::Find(const JobFolder& folder) {
  const std::string path = base::ReadFile(folder.cgroup(), PATH_MAX).value_or("");
  if (!path.ends_with("/" + NameFor(folder)) || !IsCgroup(path)) return std::nullopt;
  return Cgroup(path);
}

void Cgroup::Enter() const { Write(path_ + "/cgroup.procs", "0"); }

void Cgroup::Leave() const { Write(path_ + "/../cgroup.procs", "0"); }

void Cgroup::Kill() const {
  if (Write(path_ + "/cgroup.kill", "1")) return;
  bool found = true;  // before Linux 5.14, one by one
  for (int looks = 0; found && looks < kMaxLooks; ++looks) {
    std::istringstream pids(base::ReadFile(path_ + "/cgroup.procs", kLargestFile).value_or(""));
    found = false;
    for (pid_t pid = 0; pids >> pid;) found |= kill(pid, SIGKILL) == 0;
  }
}

void Cgroup::Remove() const {
  const base::UniqueFd events(open((path_ + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  const base::Deadline limit = base::Deadline::After(kEmptyLimit);
  char text[256] = "";
  while (!limit.Expired() && pread(events.get(), text, sizeof text - 1, 0) > 0 &&
         std::string_view(text).find("populated 1") != std::string_view::npos) {
    pollfd changed{events.get(), POLLPRI, 0};  // reports changes since it was read
    poll(&changed, 1, limit.PollTimeout());
  }
  rmdir(path_.c_str());
}

}  // namespace autodist::agent
