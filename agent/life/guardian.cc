#include "agent/life/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "agent/life/cgroup.h"
#include "base/signal_name.h"
#include "base/wall_clock.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestLog = 3000;                    // of an agent that could not even start
constexpr timespec kOrphanSweepInterval{0, 5'000'000};  // what was killed takes a moment to end

// Waits for the agent; SIGTERM is passed on to it. Returns its wait status.
int AwaitAgent(pid_t agent, const sigset_t& signals) {
  for (;;) {
    siginfo_t info;
    if (sigwaitinfo(&signals, &info) == SIGTERM) kill(agent, SIGTERM);
    for (int status = 0;;) {
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid <= 0) break;
      if (pid == agent) return status;  // others are orphans, of which the agent's end is to tell
    }
  }
}

// The agent's end has given us whatever it had not ended.
void EndOrphans(const sigset_t& signals, const std::optional<Cgroup>& cgroup) {
  if (cgroup) cgroup->Kill();
  while (waitpid(-1, nullptr, WNOHANG) >= 0 || errno == EINTR) {
    process::KillDescendants(getpid());
    sigtimedwait(&signals, nullptr, &kOrphanSweepInterval);
  }
  if (cgroup) cgroup->Remove();
}

// What a chief that comes later is told; "" if the chief of the job ended it.
std::string EndReason(int status, std::chrono::milliseconds lease, const std::string& log) {
  const std::string when = ", at " + base::LocalTime("%F %T") + " by its clock";
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGALRM) {
      return "its agent hung when it had to end, so that its ranks were killed" + when;
    }
    return "its agent was killed by " + base::SignalName(WTERMSIG(status)) +
           ", and with it its ranks" + when;
  }
  switch (WEXITSTATUS(status)) {
    case kEndedByChief:
      return "";
    case kLeaseExpired:
      return "its agent heard nothing from here for " + std::to_string(lease.count() / 1000) +
             " s and ended its ranks" + when;
    case kCleaned:
      return "it was ended by `autodist clean`" + when;
    default:
      return "its agent failed" + when + ": " + base::ReadFile(log, kLargestLog).value_or("");
  }
}

}  // namespace

int Guard(AgentOptions options) {
  prctl(PR_SET_NAME, "autodist-guard");
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  process::AdoptOrphans();

  const JobFolder folder = options.folder;
  const std::chrono::milliseconds lease = options.lease;
  const base::UniqueFd lock(open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!TakeLock(lock.get(), JobLock::kGuardian)) return kFailed;
  const base::UniqueFd ageing = folder.KeepFromAgeing();
  folder.RemoveEndReason();

  Result<base::FdPair> ours = base::Pipe();
  if (!ours.ok()) return kFailed;
  const std::optional<Cgroup> cgroup = Cgroup::Make(folder);
  const pid_t agent = fork();
  if (agent == 0) {
    if (cgroup) cgroup->Enter();
    ours->second.Reset();
    options.guardian = std::move(ours->first);
    _exit(Agent::Main(std::move(options)));
  }
  { const AgentOptions not_ours = std::move(options); }  // the agent's alone from here on
  ours->first.Reset();
  const int status = agent < 0 ? W_EXITCODE(kFailed, 0) : AwaitAgent(agent, signals);
  EndOrphans(signals, cgroup);
  const std::string reason = EndReason(status, lease, folder.log());
  if (!reason.empty()) folder.WriteEndReason(reason);
  folder.Remove();
  return 0;
}

}  // namespace autodist::agent
