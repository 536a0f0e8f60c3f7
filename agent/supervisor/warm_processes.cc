#include "agent/supervisor/warm_processes.h"

#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "process/process_tree.h"
#include "process/python_command.h"

namespace autodist::agent {
namespace {

constexpr int kGateFd = 3;  // SpawnRequest::extra_fd
// For looking at each imported file, which may be in a network file system.
constexpr std::chrono::milliseconds kCheckLimit{2'000};
// For the end of a killed process, which frees its memory and its ports.
constexpr std::chrono::milliseconds kEndLimit{2'000};
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

bool Send(int gate, const std::string& text) {
  const ssize_t sent = send(gate, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(text.size());
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

Result<pid_t> WarmProcesses::Ask(const process::SpawnRequest& rank) {
  ReadAnswers();
  if (waiting_.empty()) return Error(StatusCode::kNotFound, "none waits");
  std::vector<std::string> environment = rank.environment;
  std::erase_if(environment, IsOfAttempt);
  const auto one = std::ranges::find_if(waiting_, [&](const Waiting& each) {
    return each.rank.argv == rank.argv && each.rank.environment == environment &&
           each.rank.cpus == rank.cpus && each.rank.working_directory == rank.working_directory &&
           each.phase != Phase::kChecks;
  });
  if (one == waiting_.end()) {
    return Error(StatusCode::kUnavailable, "its variables or CPUs have changed");
  }
  std::string variables;
  for (const std::string& variable : rank.environment) variables += variable + '\0';
  if (one->phase == Phase::kImports) {
    Refuse(*one, "it has not imported all modules yet");
  } else if (one->phase == Phase::kWaits && !Send(one->gate.get(), variables + '\0')) {
    Refuse(*one, "its variables cannot be passed on");
  } else if (one->phase == Phase::kWaits) {
    one->phase = Phase::kChecks;
    check_by_ = std::min(check_by_, base::Deadline::After(kCheckLimit));
  }
  return one->pid;
}

std::optional<Result<WarmProcesses::Taken>> WarmProcesses::Take(pid_t asked) {
  const auto one = std::ranges::find(waiting_, asked, &Waiting::pid);
  if (one->phase == Phase::kChecks) return std::nullopt;
  // It runs the program only then.
  if (one->phase == Phase::kFits && !Send(one->gate.get(), "r")) Refuse(*one, "it has ended");
  if (one->phase == Phase::kRefused) return one->refusal;
  Taken taken(asked, std::move(one->ours));
  pids_.erase(asked);
  waiting_.erase(one);
  return taken;
}

void WarmProcesses::ReadAnswers() {
  const bool is_late = check_by_.Expired();
  if (is_late) check_by_ = base::Deadline::Never();
  for (Waiting& one : waiting_) {
    if (one.phase != Phase::kRefused) ReadAnswer(one);
    if (is_late && one.phase == Phase::kChecks) {
      Refuse(one, "it has not checked its files in time");
    }
  }
}

// It writes "w" when it has imported all modules, and when it has checked them; or why not.
void WarmProcesses::ReadAnswer(Waiting& one) {
  char text[512];
  const auto size = base::ReadSome(one.gate.get(), text, sizeof text, base::Deadline::After({}));
  if (size.status().code() == StatusCode::kDeadlineExceeded) return;
  const std::string answer(text, size.value_or(0));
  if (answer != "w") return Refuse(one, answer.empty() ? "it has ended" : answer);
  one.phase = one.phase == Phase::kImports ? Phase::kWaits : Phase::kFits;
  // It has not got the variables of the rank, either.
  if (!process::Descendants(one.pid).empty()) Refuse(one, "a module has started a process");
}

void WarmProcesses::Refuse(Waiting& one, const std::string& why) {
  one.phase = Phase::kRefused;
  one.refusal = Error(StatusCode::kUnavailable, why);
  Kill(one.pid);
}

void WarmProcesses::Kill(pid_t pid) {
  if (pids_.erase(pid) == 0) return;
  dying_.merge(process::KillTree(pid));
  kill(-pid, SIGKILL);  // also what has lost its parent
  end_by_ = base::Deadline::After(kEndLimit);
}

void WarmProcesses::KillUnasked() {
  std::erase_if(waiting_, [this](const Waiting& one) {
    const bool unasked = one.phase == Phase::kImports || one.phase == Phase::kWaits;
    if (unasked) Kill(one.pid);
    return unasked;
  });
}

void WarmProcesses::KillAll() {
  while (!pids_.empty()) Kill(*pids_.begin());
  waiting_.clear();
  check_by_ = base::Deadline::Never();
}

bool WarmProcesses::AnyDying() {
  std::erase_if(dying_, [](pid_t pid) { return kill(pid, 0) != 0; });
  if (end_by_.Expired()) dying_.clear();
  if (dying_.empty()) end_by_ = base::Deadline::Never();
  return !dying_.empty();
}

void WarmProcesses::AddTo(std::vector<pollfd>& fds) const {
  for (const Waiting& one : waiting_) {
    if (one.phase != Phase::kRefused) fds.push_back({one.gate.get(), POLLIN, 0});
  }
}

}  // namespace autodist::agent
