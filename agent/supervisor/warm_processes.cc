#include "agent/supervisor/warm_processes.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "process/python_command.h"

namespace autodist::agent {
namespace {

constexpr int kGateFd = 3;  // SpawnRequest::extra_fd
// For looking at each imported file, which may be in a network file system.
constexpr std::chrono::milliseconds kCheckLimit{2'000};
// Only these may differ in the next attempt. Programs read them, or libraries when programs call
// them.
constexpr std::string_view kOfAttempt =
    " AUTODIST_CHIEF_ADDRESS AUTODIST_NODE_ADDRESSES AUTODIST_NODE_COUNT AUTODIST_NODE_RANK "
    "AUTODIST_PROGRESS AUTODIST_RANK AUTODIST_RESTART_COUNT AUTODIST_WORLD_SIZE CROSS_RANK "
    "CROSS_SIZE DISTRIBUTED_TRAINER_ENDPOINTS GROUP_RANK GROUP_WORLD_SIZE HOROVOD_CROSS_RANK "
    "HOROVOD_CROSS_SIZE HOROVOD_GLOO_RENDEZVOUS_ADDR HOROVOD_GLOO_RENDEZVOUS_PORT HOROVOD_RANK "
    "HOROVOD_SIZE JAX_COORDINATOR_ADDRESS JAX_COORDINATOR_PORT JAX_NUM_PROCESSES JAX_PROCESS_ID "
    "MASTER_ADDR MASTER_PORT MS_NODE_ID MS_SCHED_HOST MS_SCHED_PORT MS_WORKER_NUM NCCL_RAS_ADDR "
    "NODE_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_UNIVERSE_SIZE PADDLE_GLOBAL_RANK "
    "PADDLE_CURRENT_ENDPOINT PADDLE_GLOBAL_SIZE PADDLE_MASTER PADDLE_NNODES PADDLE_RANK "
    "PADDLE_TRAINERS_NUM PADDLE_TRAINER_ENDPOINTS PADDLE_TRAINER_ID RANK RANK_ID RANK_SIZE "
    "ROLE_RANK ROLE_WORLD_SIZE SLURM_JOB_ID SLURM_NTASKS SLURM_PROCID SLURM_STEP_NODELIST "
    "SLURM_STEP_NUM_NODES TF_CONFIG TORCHELASTIC_RESTART_COUNT WORLD_SIZE no_grpc_proxy ";

bool IsOfAttempt(const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('='));
  return name.starts_with("PMIX_") || kOfAttempt.find(' ' + name + ' ') != kOfAttempt.npos;
}

// Waits until the process writes "w"; returns what else it writes. `silent`: the error if it does
// not.
Status Answer(int gate, std::chrono::milliseconds limit, const char* silent) {
  char said[512];
  const auto size = base::ReadSome(gate, said, sizeof said, base::Deadline::After(limit));
  std::string answer(said, size.value_or(0));
  const bool is_silent = size.status().code() == StatusCode::kDeadlineExceeded;
  if (answer.empty()) answer = is_silent ? silent : "it has ended";
  return answer == "w" ? OkStatus() : Error(StatusCode::kUnavailable, answer);
}

// Passes the variables, if the process waits for them.
Status Pass(const std::vector<std::string>& environment, int gate) {
  AD_RETURN_IF_ERROR(Answer(gate, {}, "it has not imported all modules yet"));
  std::string text;
  for (const std::string& variable : environment) text += variable + '\0';
  const ssize_t sent = send(gate, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) {
    return Error(StatusCode::kUnavailable, "its variables cannot be passed on");
  }
  shutdown(gate, SHUT_WR);
  return Answer(gate, kCheckLimit, "it has not checked its files in time");
}

}  // namespace

Status WarmProcesses::Add(process::SpawnRequest rank, const std::string& run_python,
                          const std::string& modules) {
  auto command = process::ParsePython(rank.argv);
  if (!command) return Error(StatusCode::kInvalidArgument, "not a program in Python");
  std::erase_if(rank.environment, IsOfAttempt);
  AD_ASSIGN_OR_RETURN(RankStreams streams, RankStreams::Open(RankStdin::kNull));
  AD_ASSIGN_OR_RETURN(base::FdPair gate, base::StreamSocketPair());
  process::SpawnRequest spawn = rank;
  spawn.argv = std::move(command->python);
  spawn.argv.insert(spawn.argv.end(),
                    {run_python, std::to_string(kGateFd), modules, rank.working_directory});
  spawn.argv.insert(spawn.argv.end(), command->program.begin(), command->program.end());
  spawn.stdout_fd = streams.ranks.out.get();
  spawn.stderr_fd = streams.ranks.err.get();
  spawn.extra_fd = gate.first.get();
  AD_ASSIGN_OR_RETURN(const pid_t pid, process::Spawn(spawn));
  pids_.insert(pid);
  waiting_.push_back({std::move(rank), pid, std::move(streams.ours), std::move(gate.second)});
  return OkStatus();
}

Result<WarmProcesses::Taken> WarmProcesses::Take(const process::SpawnRequest& rank) {
  std::vector<std::string> environment = rank.environment;
  std::erase_if(environment, IsOfAttempt);
  const auto found = std::ranges::find_if(waiting_, [&](const Waiting& one) {
    return one.rank.argv == rank.argv && one.rank.environment == environment &&
           one.rank.cpus == rank.cpus && one.rank.working_directory == rank.working_directory;
  });
  if (found == waiting_.end()) {
    return waiting_.empty() ? Error(StatusCode::kNotFound, "none waits")
                            : Error(StatusCode::kUnavailable, "its variables or CPUs have changed");
  }
  Waiting one = std::move(*found);
  waiting_.erase(found);
  const Status passed = Pass(rank.environment, one.gate.get());
  if (passed.ok()) {
    pids_.erase(one.pid);
    return Taken(one.pid, std::move(one.ours));
  }
  if (pids_.contains(one.pid)) kill(-one.pid, SIGKILL);
  return passed;
}

void WarmProcesses::KillAll() {
  for (const pid_t pid : pids_) kill(-pid, SIGKILL);
  waiting_.clear();
  pids_.clear();
}

}  // namespace autodist::agent
