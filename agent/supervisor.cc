#include "supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "process/process_tree.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr size_t kReadSize = 64 * 1024;
// Of a pipe whose rank has ended; more than this comes from a descendant that goes on writing.
constexpr int kReadsToTheEnd = 16;
// Killed processes take a moment to end, and one that was just forked can escape a look at /proc.
constexpr milliseconds kSweepInterval{5};

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Create(SupervisorEvents events) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor(std::move(events)));
  AD_RETURN_IF_ERROR(supervisor->Open());
  supervisor->thread_ = std::thread(&Supervisor::Loop, supervisor.get());
  return supervisor;
}

Supervisor::~Supervisor() {
  if (!thread_.joinable()) return;
  Shutdown(milliseconds(0));
  thread_.join();
}

Status Supervisor::Open() {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  children_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!epoll_.valid() || !children_.valid()) {
    return ErrnoError(errno, "opening the supervisor's descriptors");
  }
  AD_RETURN_IF_ERROR(tasks_.Open());
  for (const int fd : {tasks_.fd(), children_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return ErrnoError(errno, "epoll");
    }
  }
  return OkStatus();
}

void Supervisor::Loop() {
  while (!finished_) {
    std::array<epoll_event, 64> events;
    const base::Deadline next = sweep_at_ < kill_at_ ? sweep_at_ : kill_at_;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 next.PollTimeout());
    for (int i = 0; i < count; ++i) {
      auto* output = static_cast<Output*>(events[static_cast<size_t>(i)].data.ptr);
      if (output) ReadOutput(*output, false);
    }
    Reap();
    tasks_.RunAll();
    if (kill_at_.Expired()) {
      kill_at_ = base::Deadline::Never();
      killing_ = true;
      SignalRanks(SIGKILL);
    }
    if (shutting_down_) ContinueShutdown();
  }
}

void Supervisor::Start(std::vector<RankCommand> ranks) {
  tasks_.Post([this, ranks = std::move(ranks)]() mutable {
    for (RankCommand& command : ranks) StartRank(command);
  });
}

void Supervisor::StartRank(RankCommand& command) {
  if (shutting_down_ || terminated_ || ranks_.contains(command.rank)) return;
  Rank& rank = ranks_[command.rank];
  rank.out.stream = Stream::kStdout;
  rank.err.stream = Stream::kStderr;
  rank.out.rank = rank.err.rank = command.rank;
  const Status spawned = SpawnRank(command, rank);
  if (!spawned.ok()) {
    RankExit exit;
    exit.rank = command.rank;
    exit.start_failure = spawned;
    events_.exited(exit);
    return;
  }
  rank_of_[rank.pid] = command.rank;
  WatchOutput(rank.out);
  WatchOutput(rank.err);
  events_.started(command.rank, rank.pid);
}

Status Supervisor::SpawnRank(RankCommand& command, Rank& rank) {
  AD_ASSIGN_OR_RETURN(base::FdPair out, base::Pipe());
  AD_ASSIGN_OR_RETURN(base::FdPair err, base::Pipe());
  for (base::FdPair* pipe : {&out, &err}) {
    AD_RETURN_IF_ERROR(base::SetNonBlocking(pipe->first.get()));
  }
  command.spawn.stdout_fd = out.second.get();
  command.spawn.stderr_fd = err.second.get();
  AD_ASSIGN_OR_RETURN(rank.pid, process::Spawn(command.spawn));
  rank.out.fd = std::move(out.first);
  rank.err.fd = std::move(err.first);
  return OkStatus();
}

// Watches the pipe while the reader keeps up, and only then.
void Supervisor::WatchOutput(Output& output) {
  const bool wanted = output.fd.valid() && output.read - output.acknowledged < kWindow;
  if (wanted == output.watched) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &output;
  epoll_ctl(epoll_.get(), wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, output.fd.get(), &event);
  output.watched = wanted;
}

// Reads once, or until the pipe is empty; a pipe holds little, so that may exceed the window.
void Supervisor::ReadOutput(Output& output, bool to_the_end) {
  for (int reads = to_the_end ? kReadsToTheEnd : 1; output.fd.valid() && reads > 0; --reads) {
    std::string data(kReadSize, '\0');
    const ssize_t got = read(output.fd.get(), data.data(), data.size());
    if (got < 0) break;  // nothing there now
    if (got == 0) {
      output.fd.Reset();  // leaves the epoll set with the last descriptor
      output.watched = false;
      return;
    }
    data.resize(static_cast<size_t>(got));
    const uint64_t offset = output.read;
    output.read += data.size();
    events_.output(output.rank, output.stream, offset, std::move(data));
  }
  WatchOutput(output);
}

void Supervisor::Acknowledge(uint32_t rank, Stream stream, uint64_t offset) {
  tasks_.Post([=, this] {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) return;
    Output& output = stream == Stream::kStdout ? found->second.out : found->second.err;
    if (offset > output.read || offset < output.acknowledged) return;
    output.acknowledged = offset;
    WatchOutput(output);
  });
}

bool Supervisor::Reap() {
  signalfd_siginfo info;
  while (read(children_.get(), &info, sizeof info) > 0) {
  }
  for (;;) {
    int wait_status = 0;
    const pid_t pid = waitpid(-1, &wait_status, WNOHANG);
    if (pid <= 0) return pid == 0;
    if (const auto rank = rank_of_.find(pid); rank != rank_of_.end()) {
      const uint32_t number = rank->second;
      rank_of_.erase(rank);
      RankEnded(number, wait_status);
    } else if (const auto run = runs_.find(pid); run != runs_.end()) {
      run->second.ended.set_value(wait_status);
      runs_.erase(run);
    }  // else: an orphan that we adopted
  }
}

void Supervisor::RankEnded(uint32_t number, int wait_status) {
  Rank& rank = ranks_.at(number);
  ReadOutput(rank.out, true);
  ReadOutput(rank.err, true);
  RankExit exit;
  exit.rank = number;
  exit.pid = rank.pid;
  exit.wait_status = wait_status;
  rank.pid = 0;
  events_.exited(exit);
}

void Supervisor::SignalRanks(int signal) {
  for (const auto& [pid, rank] : rank_of_) {
    kill(-pid, signal);
    if (signal == SIGTERM) terminated_groups_.insert(pid);
  }
}

void Supervisor::TerminateRest() {
  for (const pid_t pid : process::Descendants(getpid())) {
    if (!terminated_groups_.contains(getpgid(pid))) kill(pid, SIGTERM);
  }
}

void Supervisor::Stop(milliseconds grace) {
  tasks_.Post([this, grace] {
    if (!terminated_) {
      terminated_ = true;
      if (grace.count() > 0) SignalRanks(SIGTERM);
    }
    const base::Deadline kill_at = base::Deadline::After(grace);
    if (kill_at < kill_at_) kill_at_ = kill_at;
  });
}

void Supervisor::Shutdown(milliseconds grace) {
  tasks_.Post([this, grace] {
    shutting_down_ = true;
    if (Reap() && grace.count() > 0) TerminateRest();
    const base::Deadline kill_at = base::Deadline::After(grace);
    if (kill_at < kill_at_) kill_at_ = kill_at;
  });
}

// Until there is no child left, and so, as orphans come to us, nothing below. Once the grace period
// is over, kills all descendants again and again.
void Supervisor::ContinueShutdown() {
  sweep_at_ = base::Deadline::Never();
  if (Reap()) {
    if (!killing_) return;  // the end of a child wakes the loop
    for (const pid_t pid : process::Descendants(getpid())) kill(pid, SIGKILL);
    sweep_at_ = base::Deadline::After(kSweepInterval);
    return;
  }
  for (auto& [number, rank] : ranks_) {
    ReadOutput(rank.out, true);
    ReadOutput(rank.err, true);
  }
  finished_ = true;
  events_.ended();
}

Supervisor::Running Supervisor::Run(process::SpawnRequest request) {
  auto child = std::make_shared<OtherChild>();
  child->id = next_run_++;
  Running running{child->id, child->ended.get_future()};
  tasks_.Post([this, child, request = std::move(request)] {
    const Result<pid_t> pid = shutting_down_ ? Error(StatusCode::kCancelled, "the job is ending")
                                             : process::Spawn(request);
    if (pid.ok()) {
      runs_.emplace(*pid, std::move(*child));
    } else {
      child->ended.set_value(pid.status());
    }
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
