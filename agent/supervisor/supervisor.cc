#include "agent/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/thread.h"
#include "base/wall_clock.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

// Killed processes need a moment to end, and a new process may be missing in a listing of /proc.
constexpr milliseconds kKillInterval{5};
constexpr milliseconds kStopInterval{100};
// What ranks that succeeded have left gets this time before the stop signal: a program to which a
// script has piped its output ends by itself.
constexpr milliseconds kSettle{100};
// Between the moment when a scheduler looks which processes there are, and its signal to us.
constexpr std::chrono::seconds kMaxSignalDelay{1};

}  // namespace

Supervisor::Supervisor(SupervisorEvents events)
    : events_(std::move(events)), stop_signal_(SIGTERM) {}

Result<std::unique_ptr<Supervisor>> Supervisor::Create(SupervisorEvents events) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor(std::move(events)));
  AD_RETURN_IF_ERROR(supervisor->Open());
  AD_ASSIGN_OR_RETURN(supervisor->thread_, base::StartThread([&own = *supervisor] { own.Loop(); }));
  return supervisor;
}

Supervisor::~Supervisor() {
  if (!thread_.joinable()) return;
  End(milliseconds(0));
  tasks_.Post([this] { closing_ = true; });
  thread_.join();
}

Status Supervisor::Open() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  children_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_.valid()) return ErrnoError(errno, "signalfd");
  return tasks_.Open();
}

void Supervisor::Loop() {
  while (!closing_ || ending_.ends > 0) {
    Await();
    Reap();
    tasks_.RunAll();
    if (ending_.kill_at.Expired()) {
      ending_.kill_at = base::Deadline::Never();
      ending_.killing = true;
      SignalRanks(SIGKILL);
    }
    if (ending_.ends > 0) ContinueEnd();
  }
}

void Supervisor::Await() {
  pollfd fds[] = {{tasks_.fd(), POLLIN, 0}, {children_.get(), POLLIN, 0}};
  poll(fds, std::size(fds), std::min(ending_.next_look, ending_.kill_at).PollTimeout());
}

void Supervisor::Start(std::vector<RankCommand> ranks, int stop_signal) {
  tasks_.Post([this, ranks = std::move(ranks), stop_signal]() mutable {
    stop_signal_ = stop_signal;
    sent_ = 0;
    failed_ = false;
    for (RankCommand& command : ranks) {
      if (MayStart()) {
        StartRank(command);
      } else {
        NotStarted(command.rank, Error(StatusCode::kCancelled, "stopped before it started"));
      }
    }
  });
}

bool Supervisor::MayStart() const {
  return !refuses_ && !closing_ && !ending_.stopped && ending_.ends == 0;
}

void Supervisor::StartRank(RankCommand& command) {
  const int64_t time_ns = base::NanosecondsSince1970();  // it may write before Spawn returns
  const Result<pid_t> pid = SpawnRank(command);
  if (!pid.ok()) {
    NotStarted(command.rank, pid.status());
    return;
  }
  ranks_[*pid] = {command.rank, Clock::now()};
  {
    const std::lock_guard lock(mutex_);
    running_[command.rank] = *pid;
  }
  events_.started(command.rank, *pid, time_ns);
}

void Supervisor::NotStarted(uint32_t rank, const Status& why) {
  RankExit exit;
  exit.rank = rank;
  exit.start_failure = why;
  exit.time_ns = base::NanosecondsSince1970();
  events_.exited(exit);
}

Result<pid_t> Supervisor::SpawnRank(RankCommand& command) {
  AD_ASSIGN_OR_RETURN(RankStreams streams, RankStreams::Open(command.input));
  process::SpawnRequest& spawn = command.spawn;
  spawn.stdin_fd = streams.ranks.in.valid() ? streams.ranks.in.get() : -1;
  spawn.stdout_fd = streams.ranks.out.get();
  spawn.stderr_fd = streams.ranks.err.get();
  spawn.terminal_of_stdin = command.input == RankStdin::kTerminal;
  // A terminal must have its size from the start.
  if (streams.ours.in.valid()) events_.input(command.rank, std::move(streams.ours.in));
  AD_ASSIGN_OR_RETURN(const pid_t pid, process::Spawn(spawn));
  events_.pipes(command.rank, std::move(streams.ours.out), std::move(streams.ours.err));
  return pid;
}

bool Supervisor::Reap() {
  signalfd_siginfo info;
  while (read(children_.get(), &info, sizeof info) > 0) {
  }
  for (;;) {
    int wait_status = 0;
    const pid_t pid = waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return pid == 0;
    if (const auto rank = ranks_.find(pid); rank != ranks_.end()) {
      RankExit exit{rank->second.rank, pid, wait_status, base::NanosecondsSince1970(), OkStatus()};
      exit.signalled = sent_;
      const bool ending = ending_.stopped || ending_.ends > 0;
      if (wait_status != 0) exit.first_failure = !std::exchange(failed_, true) && !ending;
      ranks_.erase(rank);
      {
        const std::lock_guard lock(mutex_);
        running_.erase(exit.rank);
      }
      events_.exited(exit);
    } else if (const auto run = runs_.find(pid); run != runs_.end()) {
      run->second.ended.set_value(wait_status);
      runs_.erase(run);
    }  // otherwise an adopted orphan
  }
}

std::map<uint32_t, pid_t> Supervisor::RunningRanks() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void Supervisor::SignalRanks(int signal) {
  if (signal == SIGTSTP || signal == SIGCONT) {
    suspended_ = signal == SIGTSTP;
  } else {
    sent_ = signal;
  }
  for (const auto& [pid, rank] : ranks_) kill(-pid, signal);
}

void Supervisor::Signal(int signal) {
  tasks_.Post([this, signal] { SignalRanks(signal); });
}

// A stopped process receives the signal only after it continues.
void Supervisor::SignalDescendants() {
  sent_ = stop_signal_;
  for (const pid_t pid : process::Descendants(getpid())) {
    if (ending_.only_orphans && process::ParentOf(pid) != getpid()) continue;
    if (ending_.signalled_groups.contains(getpgid(pid))) continue;
    if (ending_.signalled.contains(pid)) continue;
    const auto is_meant = [&] { return process::IsDescendant(pid, getpid()); };
    if (process::Signal(pid, stop_signal_, is_meant)) ending_.signalled.insert(pid);
    process::Signal(pid, SIGCONT, is_meant);
  }
}

void Supervisor::KillAfter(milliseconds grace) {
  const base::Deadline kill_at = base::Deadline::After(grace);
  if (!ending_.killing) ending_.kill_at = std::min(ending_.kill_at, kill_at);
}

void Supervisor::Stop(milliseconds grace) {
  tasks_.Post([this, grace] {
    failed_ |= ranks_.empty();  // elsewhere: a restart does not wait for what ranks here left
    StopRanks(grace, Clock::time_point::min());
  });
}

void Supervisor::StopForGood(milliseconds grace, bool signalled) {
  const auto before = signalled ? Clock::now() - kMaxSignalDelay : Clock::time_point::min();
  tasks_.Post([this, grace, before] {
    refuses_ = true;
    StopRanks(grace, before);
  });
}

void Supervisor::StopRanks(milliseconds grace, Clock::time_point signalled_before) {
  if (HasEnded()) return;
  if (!std::exchange(ending_.stopped, true) && grace.count() > 0) {
    sent_ = stop_signal_;
    for (const auto& [pid, rank] : ranks_) {
      const bool signalled = rank.started < signalled_before || ending_.signalled.contains(pid);
      if (!signalled) kill(-pid, stop_signal_);
      ending_.signalled_groups.insert(pid);
    }
    SignalRanks(SIGCONT);
  }
  KillAfter(grace);
}

void Supervisor::End(milliseconds grace) {
  {
    const std::lock_guard lock(mutex_);
    ++ends_under_way_;
  }
  tasks_.Post([this, grace] {
    ++ending_.ends;
    KillAfter(grace);
  });
}

// Reports what ranks have left when its next stage begins. Returns whether it may end by itself.
bool Supervisor::LeftMayEnd() {
  const bool first = ending_.left == v1::LEFT_STAGE_UNSPECIFIED;
  const bool after_success = !failed_ && !ending_.stopped;
  if (!ranks_.empty() || ending_.left == v1::LEFT_STAGE_KILLED) return false;
  // What is killed together with the ranks has not been left by them.
  if (ending_.killing && first && !after_success) return false;
  if (!ending_.killing && !first &&
      (ending_.left == v1::LEFT_STAGE_AWAITED || !ending_.left_until->Expired())) {
    return false;
  }
  if (first && !after_success) {  // a restart waits; reported only if it stays
    ending_.left = v1::LEFT_STAGE_SIGNALLED;
    ending_.left_until = base::Deadline::After(kLeftAwaited);
    return false;
  }
  std::vector<pid_t> left = process::Descendants(getpid());
  std::erase_if(left, [this](pid_t pid) { return runs_.contains(getpgid(pid)); });
  if (left.empty()) return false;
  if (first && !ending_.killing) {
    if (!ending_.left_until) ending_.left_until = base::Deadline::After(kSettle);
    ending_.next_look = *ending_.left_until;
    if (!ending_.left_until->Expired()) return true;
  }
  ending_.left =
      ending_.killing ? v1::LEFT_STAGE_KILLED : static_cast<v1::LeftStage>(ending_.left + 1);
  ending_.left_until = base::Deadline::After(kLeftAwaited);
  if (events_.left) events_.left(ending_.left, left);
  return false;
}

// Continues until there is no child left, and so, because orphans become our children, no
// descendant. After the grace period, kills all descendants repeatedly.
void Supervisor::ContinueEnd() {
  if (Reap()) {
    if (LeftMayEnd()) return;
    if (ending_.killing) {
      process::KillDescendants(getpid());
    } else {
      SignalDescendants();
      // A process that is forked from now on may be part of the parent's shutdown; an orphan is
      // not.
      ending_.only_orphans = true;
    }
    ending_.next_look = base::Deadline::After(ending_.killing ? kKillInterval : kStopInterval);
    return;
  }
  const int ends = std::exchange(ending_, {}).ends;
  events_.ended();
  const std::lock_guard lock(mutex_);
  ends_under_way_ -= ends;
  ended_changed_.notify_all();
}

void Supervisor::WaitUntilEnded() {
  std::unique_lock lock(mutex_);
  ended_changed_.wait(lock, [this] { return ends_under_way_ == 0; });
}

Supervisor::Running Supervisor::Run(process::SpawnRequest request, base::UniqueFd its) {
  auto child = std::make_shared<OtherChild>();
  child->id = next_run_++;
  Running running{child->id, child->ended.get_future()};
  tasks_.Post([this, child, request = std::move(request),
               its = std::make_shared<base::UniqueFd>(std::move(its))] {
    const Result<pid_t> pid = ending_.ends > 0 || closing_
                                  ? Error(StatusCode::kCancelled, "the job is ending")
                                  : process::Spawn(request);
    if (pid.ok()) {
      runs_.emplace(*pid, std::move(*child));
    } else {
      child->ended.set_value(pid.status());
    }
    its->Reset();
  });
  return running;
}

void Supervisor::KillRun(uint64_t id) {
  tasks_.Post([this, id] {
    for (const auto& [pid, child] : runs_) {
      if (child.id == id) kill(-pid, SIGKILL);
    }
  });
}

}  // namespace autodist::agent
