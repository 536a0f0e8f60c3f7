#include "agent/supervisor/warm_processes.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>

#include "agent/supervisor/supervisor.h"

namespace autodist::agent {
namespace {

constexpr int kGateFd = 3;  // SpawnRequest::extra_fd

bool Waits(int gate) {
  char byte = 0;
  return recv(gate, &byte, 1, MSG_DONTWAIT) == 1;
}

// Writes everything without blocking; false if the socket's buffer is too small.
bool WriteAtOnce(int gate, const std::vector<std::string>& environment) {
  std::string text;
  for (const std::string& variable : environment) text += variable + '\0';
  const int size = static_cast<int>(text.size());
  setsockopt(gate, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);  // the kernel doubles it
  return send(gate, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
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

std::optional<WarmProcesses::Taken> WarmProcesses::Take(const RankCommand& command) {
  const auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) {
    return one.spawn.argv == command.spawn.argv && one.spawn.cpus == command.spawn.cpus &&
           one.spawn.working_directory == command.spawn.working_directory;
  });
  if (found == waiting_.end()) return std::nullopt;
  if (!Waits(found->gate.get()) || !WriteAtOnce(found->gate.get(), command.spawn.environment)) {
    kill(-found->pid, SIGKILL);
    return std::nullopt;
  }
  Taken taken{found->pid, std::move(found->ours)};
  pids_.erase(found->pid);
  waiting_.erase(found);
  return taken;
}

void WarmProcesses::Gone(pid_t pid) {
  if (pids_.erase(pid) == 0) return;
  std::erase_if(waiting_, [pid](const Waiting& one) { return one.pid == pid; });
}

void WarmProcesses::KillAll() {
  for (const Waiting& one : waiting_) kill(-one.pid, SIGKILL);
  waiting_.clear();
  pids_.clear();
}

}  // namespace autodist::agent
