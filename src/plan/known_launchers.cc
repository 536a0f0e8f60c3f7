#include "plan/known_launchers.h"

#include <algorithm>

namespace autodist::plan {
namespace {

constexpr auto kPerNode = v1::PROGRAM_KIND_PER_NODE;
constexpr auto kPerJob = v1::PROGRAM_KIND_PER_JOB;
constexpr bool kByItself = true;

constexpr KnownLauncher kPrograms[] = {
    {"torchrun", kPerNode, "torch", "torch"},
    {"accelerate", kPerNode, "torch", "torch"},
    {"fleetrun", kPerNode, "paddle", "paddle"},
    {"msrun", kPerNode, "torch", "mindspore"},
    {"mpirun", kPerJob, "mpi", "mpi"},
    {"mpiexec", kPerJob, "mpi", "mpi"},
    {"orterun", kPerJob, "mpi", "mpi"},
    {"prterun", kPerJob, "mpi", "mpi"},
    {"mpirun.openmpi", kPerJob, "mpi", "mpi"},
    {"mpiexec.openmpi", kPerJob, "mpi", "mpi"},
    {"horovodrun", kPerJob, "torch", "horovod", kByItself},
    {"deepspeed", kPerJob, "torch", "deepspeed", kByItself},
    {"srun", kPerJob, "torch", "torch", kByItself},
    // The dialect mpi is Open MPI's.
    {"mpirun.mpich", kPerJob, "torch", nullptr, kByItself},
    {"mpiexec.mpich", kPerJob, "torch", nullptr, kByItself},
    {"mpirun.hydra", kPerJob, "torch", nullptr, kByItself},
    {"mpiexec.hydra", kPerJob, "torch", nullptr, kByItself},
};

constexpr KnownLauncher kModules[] = {
    {"torch.distributed.run", kPerNode, "torch", "torch"},
    {"torch.distributed.launch", kPerNode, "torch", "torch"},
    {"paddle.distributed.launch", kPerNode, "paddle", "paddle"},
    {"accelerate.commands.launch", kPerNode, "torch", "torch"},
    {"deepspeed.launcher.runner", kPerJob, "torch", "deepspeed", kByItself},
};

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

template <size_t size>
std::optional<KnownLauncher> Find(const KnownLauncher (&known)[size], const std::string& name) {
  for (const KnownLauncher& launcher : known) {
    if (name == launcher.name) return launcher;
  }
  return std::nullopt;
}

// `accelerate config` and its like start no ranks.
std::optional<KnownLauncher> Program(const std::vector<std::string>& command, size_t at) {
  const auto found = Find(kPrograms, BaseName(command[at]));
  if (found && std::string("accelerate") == found->name &&
      std::find(command.begin() + static_cast<ptrdiff_t>(at), command.end(), "launch") ==
          command.end()) {
    return std::nullopt;
  }
  return found;
}

// Past `env`, its options and its assignments.
size_t PastEnv(const std::vector<std::string>& command) {
  size_t at = 0;
  if (BaseName(command[0]) != "env") return at;
  for (at = 1; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (!word.starts_with('-') && word.find('=') == std::string::npos) break;
  }
  return at;
}

}  // namespace

std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command) {
  if (command.empty()) return std::nullopt;
  const size_t at = PastEnv(command);
  if (at == command.size()) return std::nullopt;
  if (!BaseName(command[at]).starts_with("python")) return Program(command, at);
  for (size_t i = at + 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-m") return i + 1 < command.size() ? Find(kModules, command[i + 1]) : std::nullopt;
    if (word.starts_with("-m")) return Find(kModules, word.substr(2));
    if (word == "-W" || word == "-X") ++i;
    if (!word.starts_with('-')) return Program(command, i);
  }
  return std::nullopt;
}

}  // namespace autodist::plan
