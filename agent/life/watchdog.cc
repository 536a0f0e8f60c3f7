#include "agent/life/watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>

#include "agent/life/cgroup.h"
#include "agent/life/heartbeat.h"
#include "base/signal_name.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "process/oom_watch.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBeatInterval{1'000};  // for checking the agent
// An agent that runs ends the ranks itself when its lease expires. The chief waits a little longer
// (chief/fleet/lease_timer.h).
constexpr milliseconds kEndsItself{30};
constexpr size_t kLargestLog = 1 << 20;  // bytes
constexpr size_t kLastOfLog = 3000;      // bytes
// Killed processes need a moment to end, but one in the kernel may never end.
constexpr milliseconds kFirstSweepInterval{5};
constexpr milliseconds kMaxSweepInterval{1'000};

struct AgentEnd {
  int status;
  bool hung;           // it was killed for that
  bool out_of_memory;  // the kernel killed processes for lack of memory meanwhile
};

// Returns the signal, or -1 after this time.
int AwaitSignal(const sigset_t& signals, milliseconds limit) {
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  return sigtimedwait(&signals, nullptr, &time);
}

class AgentWatch {
 public:
  AgentWatch(pid_t agent, const sigset_t& signals, milliseconds grace, bool held)
      : agent_(agent), signals_(signals), end_limit_(grace + kHangLimit), held_(held) {}

  // Waits until it has ended, or kills it if it does not run any more.
  AgentEnd Await(const Heartbeat& heartbeat, int lock) {
    bool asked_to_end = false;
    bool hung = false;
    MissedBeats missed;
    // At the check before the last one, because a killed process may need time to end.
    auto kills_before = process::OomKills();
    for (auto kills = kills_before;; kills = process::OomKills()) {
      const milliseconds interval =
          hung ? kBeatInterval : std::min(kBeatInterval, UntilExpiry(heartbeat));
      const int signal = AwaitSignal(signals_, interval);
      if (const auto status = TakeEnded()) {
        return {*status, hung, process::OomKills() > kills_before};
      }
      kills_before = kills;
      const bool reported = signal == SIGTERM;
      if (reported && (held_ || !LockHolder(lock, JobLock::kChiefInCharge))) {
        asked_to_end = !held_;
        kill(agent_, SIGTERM);
        kill(agent_, SIGCONT);  // in case it was stopped
      }
      if (signal < 0) missed.Count(heartbeat.beats(), interval);
      const milliseconds limit = heartbeat.within();
      hung = missed.missed() >= (asked_to_end ? std::min(limit, end_limit_) : limit) ||
             UntilExpiry(heartbeat).count() == 0;
      if (hung) kill(agent_, SIGKILL);
    }
  }

 private:
  static milliseconds UntilExpiry(const Heartbeat& heartbeat) {
    const auto left = heartbeat.expires().when() - (base::Deadline::Clock::now() - kEndsItself);
    return std::max(std::chrono::ceil<milliseconds>(left), milliseconds(0));
  }

  std::optional<int> TakeEnded() const {
    for (int status = 0;;) {
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid <= 0) return std::nullopt;
      if (pid == agent_) return status;  // others are orphans, which the agent should have ended
    }
  }

  const pid_t agent_;
  const sigset_t& signals_;
  const milliseconds end_limit_;
  const bool held_;  // SIGTERM may come from the scheduler, even with a connected chief
};

// After the agent's end its remaining processes are our children.
void EndOrphans(const sigset_t& signals, const std::optional<Cgroup>& cgroup) {
  if (cgroup) cgroup->Kill();
  for (milliseconds wait = kFirstSweepInterval;; wait = std::min(2 * wait, kMaxSweepInterval)) {
    pid_t ended = 0;
    do {
      ended = waitpid(-1, nullptr, WNOHANG);
    } while (ended > 0 || (ended < 0 && errno == EINTR));
    if (ended < 0) break;
    process::KillDescendants(getpid());
    AwaitSignal(signals, wait);  // SIGCHLD ends it
  }
  if (cgroup) cgroup->Remove();
}

std::string LastOf(const std::string& log) {
  return std::string(
      base::LastCharacters(base::ReadFile(log, kLargestLog).value_or(""), kLastOfLog));
}

// Returns the reason for later chiefs; "" if the job's chief ended the agent.
std::string EndReason(const AgentEnd& end, milliseconds lease, const std::string& log) {
  const int status = end.status;
  const std::string when = ", at " + base::LocalTime("%F %T") + " by its clock";
  if (end.hung) {
    return "its agent was stopped or hung, so it was killed with all that it had started" + when;
  }
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGALRM) {
      return "its agent hung at its end, so all that it had started was killed" + when;
    }
    return "its agent was killed by " + base::SignalName(WTERMSIG(status)) +
           (end.out_of_memory ? " while the kernel's out-of-memory killer was active" : "") +
           ", and all that it had started ended with it" + when;
  }
  switch (WEXITSTATUS(status)) {
    case kEndedByChief:
      return "";
    case kLeaseExpired:
      return "its agent received nothing from here for " + std::to_string(lease.count() / 1000) +
             " s and ended all that it had started" + when;
    case kCleaned:
      return "its agent was ended by `autodist clean`" + when;
    default:
      return "its agent failed" + when + ": " + LastOf(log);
  }
}

}  // namespace

int Guard(AgentOptions options) {
  prctl(PR_SET_NAME, kWatchdogName);
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  process::AdoptOrphans();

  const JobFolder folder = options.folder;
  const milliseconds lease = options.lease;
  const milliseconds grace = options.grace;
  const bool held = options.held;
  const base::UniqueFd lock(open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!TakeLock(lock.get(), JobLock::kWatchdog)) return kFailed;
  const base::UniqueFd ageing = folder.KeepFromAgeing();
  folder.RemoveEndReason();

  Result<base::FdPair> ours = base::Pipe();
  Result<Heartbeat> heartbeat = Heartbeat::Make();
  if (!ours.ok() || !heartbeat.ok()) return kFailed;
  heartbeat->Beat(lease + kHangLimit);  // until the agent's first beat
  const std::optional<Cgroup> cgroup = Cgroup::Make(folder);
  const pid_t agent = fork();
  if (agent == 0) {
    if (cgroup) cgroup->Enter();
    ours->second.Reset();
    options.watchdog = std::move(ours->first);
    options.heartbeat = *heartbeat;
    _exit(Agent::Main(std::move(options)));
  }
  { const AgentOptions not_ours = std::move(options); }  // used only by the agent from now on
  ours->first.Reset();
  const AgentEnd end = agent < 0
                           ? AgentEnd{W_EXITCODE(kFailed, 0), false, false}
                           : AgentWatch(agent, signals, grace, held).Await(*heartbeat, lock.get());
  EndOrphans(signals, cgroup);
  const std::string reason = EndReason(end, lease, folder.log());
  if (!reason.empty()) folder.WriteEndReason(reason);
  folder.Remove();
  return 0;
}

int GuardApart(AgentOptions options) {
  setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log =
      open(options.folder.log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(log >= 0 ? log : null, STDERR_FILENO);
  (void)!chdir("/");
  return Guard(std::move(options));
}

}  // namespace autodist::agent
