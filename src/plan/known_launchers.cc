#include "plan/known_launchers.h"

#include <algorithm>

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

// Programs that run the program that follows.
bool IsPrefix(const std::string& name) {
  constexpr const char* kPrefixes[] = {"env",  "nice",   "nohup",  "numactl", "taskset",
                                       "time", "stdbuf", "setsid", "ionice",  "chrt"};
  return std::ranges::count(kPrefixes, name) > 0;
}

// Past such programs, their options, the values of those, and assignments.
size_t PastPrefixes(const std::vector<std::string>& command) {
  size_t at = 0;
  while (at < command.size() && IsPrefix(BaseName(command[at]))) {
    for (++at; at < command.size(); ++at) {
      const std::string& word = command[at];
      const bool value = word.find('=') != std::string::npos ||
                         (!word.empty() && word[0] >= '0' && word[0] <= '9');
      if (!word.starts_with('-') && !value) break;
      if (word == "-u" || word == "-C") ++at;  // env's: a variable, a folder
    }
  }
  return at;
}

// Of the words after a Python.
std::optional<KnownLauncher> ProgramOfPython(const std::vector<std::string>& command, size_t at) {
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (!word.starts_with('-')) return Program(command, at);
    if (word.starts_with("--")) continue;
    // Short options may stand together; the first of these takes what follows it.
    const size_t option = word.find_first_of("cmWX");
    if (option == std::string::npos) continue;
    const bool ends = option + 1 == word.size();
    if (ends) ++at;
    if (word[option] == 'c') return std::nullopt;
    if (word[option] == 'm' && at < command.size()) {
      return Find(kModules, ends ? command[at] : word.substr(option + 1));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command) {
  const size_t at = PastPrefixes(command);
  if (at >= command.size()) return std::nullopt;
  if (BaseName(command[at]).starts_with("python")) return ProgramOfPython(command, at + 1);
  return Program(command, at);
}

}  // namespace autodist::plan
