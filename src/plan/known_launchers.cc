#include "plan/known_launchers.h"

#include <algorithm>

#include "plan/command_words.h"

namespace autodist::plan {
namespace {

constexpr auto kPerNode = v1::PROGRAM_KIND_PER_NODE;
constexpr auto kPerJob = v1::PROGRAM_KIND_PER_JOB;
constexpr bool kByItself = true;

constexpr KnownLauncher kPrograms[] = {
    {"torchrun", "torch", "torch", kPerNode},
    {"accelerate", "torch", "torch", kPerNode},
    {"fleetrun", "paddle", "paddle", kPerNode},
    {"msrun", "torch", "mindspore", kPerNode},
    {"mpirun", "mpi", "mpi", kPerJob},
    {"mpiexec", "mpi", "mpi", kPerJob},
    {"orterun", "mpi", "mpi", kPerJob},
    {"prterun", "mpi", "mpi", kPerJob},
    {"mpirun.openmpi", "mpi", "mpi", kPerJob},
    {"mpiexec.openmpi", "mpi", "mpi", kPerJob},
    {"horovodrun", "torch", "horovod", kPerJob, kByItself},
    {"deepspeed", "torch", "deepspeed", kPerJob, kByItself},
    {"srun", "torch", "torch", kPerJob, kByItself},
    // The dialect mpi is Open MPI's.
    {"mpirun.mpich", "torch", nullptr, kPerJob, kByItself},
    {"mpiexec.mpich", "torch", nullptr, kPerJob, kByItself},
    {"mpirun.hydra", "torch", nullptr, kPerJob, kByItself},
    {"mpiexec.hydra", "torch", nullptr, kPerJob, kByItself},
};

constexpr KnownLauncher kModules[] = {
    {"torch.distributed.run", "torch", "torch", kPerNode},
    {"torch.distributed.launch", "torch", "torch", kPerNode},
    {"paddle.distributed.launch", "paddle", "paddle", kPerNode},
    {"accelerate.commands.launch", "torch", "torch", kPerNode},
    {"deepspeed.launcher.runner", "torch", "deepspeed", kPerJob, kByItself},
};

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

}  // namespace

std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command) {
  const size_t at = ProgramAt(command);
  if (at >= command.size()) return std::nullopt;
  if (!BaseName(command[at]).starts_with("python")) return Program(command, at);
  const PythonTarget target = TargetOfPython(command, at + 1);
  if (!target.module.empty()) return Find(kModules, target.module);
  return target.at < command.size() ? Program(command, target.at) : std::nullopt;
}

}  // namespace autodist::plan
