#include "agent/life/clean.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "agent/life/cgroup.h"
#include "base/fd.h"
#include "base/split.h"
#include "process/environment.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

// Whether the process is a rank of the job in this folder, or a descendant of one: only those have
// the path of the agent's socket in their environment. Another login may see the folder elsewhere.
bool BelongsTo(const JobFolder& folder, pid_t pid) {
  const std::string socket = folder.rank_socket();
  const std::string end = socket.substr(folder.path().size() - folder.name().size() - 1);
  return process::Environment::OfProcess("/proc/" + std::to_string(pid))
      .Get("AUTODIST_AGENT_SOCKET")
      .ends_with(end);
}

// Makes a watchdog end its job, also a stopped one.
bool Terminate(pid_t watchdog, int lock) {
  // On another machine or in another container, which shares our /tmp.
  if (watchdog <= 0) return false;
  const auto is_meant = [&] { return LockHolder(lock, JobLock::kWatchdog) == watchdog; };
  const bool reported = process::Signal(watchdog, SIGTERM, is_meant);
  process::Signal(watchdog, SIGCONT, is_meant);
  return reported;
}

// The job's folder was removed while it runs.
const char* CleanWithoutFolder(const JobFolder& folder) {
  const base::UniqueFd lock = folder.OpenLock(O_RDWR);
  const auto watchdog = lock.valid() ? LockHolder(lock.get(), JobLock::kWatchdog) : std::nullopt;
  if (!watchdog || LockHolder(lock.get(), JobLock::kChiefInCharge) ||
      !Terminate(*watchdog, lock.get())) {
    return "in-use";
  }
  AwaitLock(lock.get(), JobLock::kWatchdog);
  return "ended";
}

const char* CleanJob(const JobFolder& folder) {
  if (!folder.IsOurs()) return CleanWithoutFolder(folder);
  const Result<base::UniqueFd> nobody_starts = folder.Lock();
  if (!nobody_starts.ok()) return "in-use";
  const base::UniqueFd lock(open(folder.lock().c_str(), O_RDWR | O_CLOEXEC));
  const auto watchdog = lock.valid() ? LockHolder(lock.get(), JobLock::kWatchdog) : std::nullopt;
  if (!watchdog) {
    if (HasWatchdog(JobFolder::Find(folder.job_id(), folder.node_rank()))) return "in-use";
    KillOrphans(folder);
    folder.Remove();
    return "removed";
  }
  if (LockHolder(lock.get(), JobLock::kChiefInCharge)) return "in-use";
  if (!Terminate(*watchdog, lock.get()) && LockHolder(lock.get(), JobLock::kWatchdog))
    return "in-use";
  AwaitLock(lock.get(), JobLock::kWatchdog);
  return "ended";
}

}  // namespace

// No ancestor is left to find the processes by descent.
bool KillOrphans(const JobFolder& folder) {
  const std::optional<Cgroup> cgroup = Cgroup::Find(folder);
  if (cgroup) cgroup->Kill();
  bool found = true;
  for (int looks = 0; found && looks < 100; ++looks) {
    found = false;
    for (const pid_t pid : process::AllProcesses()) {
      if (!BelongsTo(folder, pid)) continue;
      found |= process::Signal(pid, SIGKILL, [&] { return BelongsTo(folder, pid); });
    }
  }
  if (cgroup) cgroup->Remove();
  return !found;
}

int Clean() {
  for (const JobFolder& folder : JobFolder::AllOfAnyLogin()) {
    std::printf("%s\t%s\n", CleanJob(folder), folder.name().c_str());
  }
  return 0;
}

}  // namespace autodist::agent
