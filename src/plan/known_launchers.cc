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
