#include "process/detach.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>

#include "base/deadline.h"
#include "base/folder_entries.h"
#include "base/log.h"
#include "process/spawn.h"

namespace autodist::process {
namespace {

sigset_t PassedOn() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT}) sigaddset(&set, signal);
  return set;
}

// A joined thread remains visible until the kernel has removed it.
constexpr std::chrono::milliseconds kPutAwayLimit{1'000};

bool HasOtherThreads() { return base::EntriesOf("/proc/self/task").size() > 1; }

// Only the calling thread survives in a forked process, and locks of other threads stay locked.
Status CheckOneThread() {
  const base::Deadline limit = base::Deadline::After(kPutAwayLimit);
  while (HasOtherThreads()) {
    if (limit.Expired()) {
      return Error(StatusCode::kInternal, "detaching: there are other threads");
    }
    sched_yield();
  }
  return OkStatus();
}

// Runs in the old process.
DetachOutcome WaitFor(pid_t child, int started, int signals) {
  for (;;) {
    pollfd fds[] = {{started, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) continue;
    signalfd_siginfo info;
    if (fds[1].revents != 0 && read(signals, &info, sizeof info) == sizeof info) {
      kill(child, static_cast<int>(info.ssi_signo));
    }
    if (fds[0].revents == 0) continue;
    char byte = 0;
    if (read(started, &byte, 1) == 1) return {true, 0};
    return {false, ExitCode(Reap(child))};
  }
}

// Runs in the new process.
void LeaveTerminal() {
  setsid();
  signal(SIGHUP, SIG_IGN);
  const base::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  dup2(null.get(), STDIN_FILENO);
}

}  // namespace

Result<std::variant<DetachOutcome, std::unique_ptr<Detached>>> Detached::Fork() {
  AD_RETURN_IF_ERROR(CheckOneThread());
  AD_ASSIGN_OR_RETURN(base::FdPair pipe, base::Pipe());
  const sigset_t passed_on = PassedOn();
  const base::UniqueFd signals(signalfd(-1, &passed_on, SFD_CLOEXEC));
  if (!signals.valid()) return ErrnoError(errno, "signalfd");
  std::fflush(nullptr);  // otherwise both processes would write it
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &passed_on, &before);
  const pid_t child = fork();
  const int error = errno;
  if (child == 0) LeaveTerminal();
  std::variant<DetachOutcome, std::unique_ptr<Detached>> outcome;
  if (child > 0) {
    pipe.second.Reset();
    outcome = WaitFor(child, pipe.first.get(), signals.get());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return ErrnoError(error, "fork");
  if (child == 0) outcome = std::unique_ptr<Detached>(new Detached(std::move(pipe.second)));
  return outcome;
}

void Detached::Started(Result<base::UniqueFd> output) {
  if (!output.ok()) {
    base::Log(base::LogLevel::kWarning,
              "output of autodist is lost from now on: " + Message(output.status()) +
                  "; the ranks' output is still in their log files");
    output = base::UniqueFd(open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  std::fflush(nullptr);
  dup2(output->get(), STDOUT_FILENO);
  dup2(output->get(), STDERR_FILENO);
  // The old process may have ended with its terminal.
  (void)base::WriteAll(starter_.get(), "+", base::Deadline::Never());
  starter_.Reset();
}

}  // namespace autodist::process
