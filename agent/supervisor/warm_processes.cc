#include "agent/supervisor/warm_processes.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "agent/supervisor/supervisor.h"

namespace autodist::agent {
namespace {

constexpr int kGateFd = 3;  // SpawnRequest::extra_fd
constexpr pid_t kEnded = -1;

bool Waits(int gate) {
  char byte = 0;
  return recv(gate, &byte, 1, MSG_DONTWAIT) == 1;
}

Status WriteAtOnce(int gate, const std::vector<std::string>& environment) {
  std::string text;
  for (const std::string& variable : environment) text += variable + '\0';
  const int size = static_cast<int>(text.size());
  setsockopt(gate, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);  // the kernel doubles it
  const ssize_t sent = send(gate, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return ErrnoError(errno, "cannot pass the variables on");
  return sent == size ? OkStatus() : Error(StatusCode::kResourceExhausted, "too many variables");
}

}  // namespace

Status WarmProcesses::Add(RankCommand command) {
  AD_ASSIGN_OR_RETURN(RankStreams streams, RankStreams::Open(command.input));
  AD_ASSIGN_OR_RETURN(base::FdPair gate, base::StreamSocketPair());
  process::SpawnRequest& spawn = command.spawn;
  spawn.stdout_fd = streams.ranks.out.get();
  spawn.stderr_fd = streams.ranks.err.get();
  spawn.extra_fd = gate.first.get();
  spawn.environment.push_back(std::string(kVariable) + "=" + std::to_string(kGateFd));
  AD_ASSIGN_OR_RETURN(const pid_t pid, process::Spawn(spawn));
  pids_.insert(pid);
  waiting_.push_back({std::move(spawn), pid, std::move(streams.ours), std::move(gate.second)});
  return OkStatus();
}

Result<WarmProcesses::Taken> WarmProcesses::Take(const RankCommand& command) {
  const auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) {
    return one.spawn.argv == command.spawn.argv && one.spawn.cpus == command.spawn.cpus &&
           one.spawn.working_directory == command.spawn.working_directory;
  });
  if (found == waiting_.end()) return Error(StatusCode::kNotFound, "no process has this command");
  if (found->pid == kEnded) return Error(StatusCode::kUnavailable, "the one that waited has ended");
  const Status passed =
      Waits(found->gate.get())
          ? WriteAtOnce(found->gate.get(), command.spawn.environment)
          : Error(StatusCode::kUnavailable, "the one that waited had not imported all modules yet");
  if (!passed.ok()) {
    kill(-found->pid, SIGKILL);
    return passed;
  }
  Taken taken{found->pid, std::move(found->ours)};
  pids_.erase(found->pid);
  waiting_.erase(found);
  return taken;
}

void WarmProcesses::Gone(pid_t pid) {
  if (pids_.erase(pid) == 0) return;
  const auto found = std::ranges::find(waiting_, pid, &Waiting::pid);
  if (found != waiting_.end()) found->pid = kEnded;
}

void WarmProcesses::KillAll() {
  for (const pid_t pid : pids_) kill(-pid, SIGKILL);
  waiting_.clear();
  pids_.clear();
}

}  // namespace autodist::agent
