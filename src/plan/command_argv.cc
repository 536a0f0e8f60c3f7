#include "plan/command_argv.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <string_view>

#include "base/for_user.h"
#include "base/python_command.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "base/utf8.h"

namespace autodist::plan {
namespace {

// Programs that run the program in their arguments.
bool IsPrefix(const std::string& name) {
  constexpr const char* kPrefixes[] = {"env",  "nice",   "nohup",  "numactl", "taskset",
                                       "time", "stdbuf", "setsid", "ionice",  "chrt"};
  return std::ranges::count(kPrefixes, name) > 0;
}

// Returns the index of the program behind such programs, their options with values, and
// assignments; the size of the command if it is missing.
size_t ProgramAt(const std::vector<std::string>& command) {
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
    // Our framework mpi only supports Open MPI.
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

// Subcommands such as `accelerate config` start no ranks.
std::optional<KnownLauncher> Program(const std::vector<std::string>& command, size_t at) {
  const auto found = Find(kPrograms, BaseName(command[at]));
  if (found && std::string("accelerate") == found->name &&
      std::find(command.begin() + static_cast<ptrdiff_t>(at), command.end(), "launch") ==
          command.end()) {
    return std::nullopt;
  }
  return found;
}

bool IsShell(const std::string& name) {
  constexpr const char* kShells[] = {"sh", "bash", "dash", "ksh", "zsh"};
  return std::ranges::count(kShells, name) > 0;
}

// A shell also looks in PATH for a script without a folder, so only names like those of scripts
// count.
std::string ScriptOfShell(const std::vector<std::string>& command, size_t at) {
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    const bool option = word.starts_with('-') || word.starts_with('+');
    if (!option) return word.find('/') != std::string::npos || word.ends_with(".sh") ? word : "";
    if (word == "-" || (!word.starts_with("--") && word.find_first_of("cs") != std::string::npos)) {
      return "";
    }
    if (word == "--rcfile" || word == "--init-file" || word.ends_with('o') || word.ends_with('O')) {
      ++at;
    }
  }
  return "";
}

// Launchers have many options, but none has a value that ends like a script.
std::string ScriptOfLauncher(const std::vector<std::string>& command, size_t at) {
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (word == "-m" || word == "--module" || word == "--no-python" || word == "--no_python") break;
    if (!word.starts_with('-') && word.ends_with(".py")) return word;
  }
  return "";
}

}  // namespace

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<KnownLauncher> LauncherIn(const std::vector<std::string>& command) {
  const size_t at = ProgramAt(command);
  if (at >= command.size()) return std::nullopt;
  if (!BaseName(command[at]).starts_with("python")) return Program(command, at);
  const base::PythonTarget target = base::TargetOfPython(command, at + 1);
  if (!target.module.empty()) return Find(kModules, target.module);
  return target.at < command.size() ? Program(command, target.at) : std::nullopt;
}

std::vector<std::string> WithPython(std::vector<std::string> command, bool needs_interpreter) {
  if (command.empty()) return command;
  const bool needs_python =
      command[0] == "-m" || (command[0].ends_with(".py") && needs_interpreter);
  if (needs_python) command.insert(command.begin(), "python3");
  return command;
}

Status CheckForRanks(const std::vector<std::string>& command) {
  struct ShellCommand {
    std::string_view programs;
    std::string_view subcommands;
    const char* statements;  // for python_venv; its arguments follow
  };
  constexpr ShellCommand kCommands[] = {
      {"conda mamba micromamba", "activate", "source ~/miniconda3/etc/profile.d/conda.sh; conda"},
      {"module", "load add use purge", "source /etc/profile; module"}};
  // It may be quoted as one word, with other commands.
  const std::string line = command.size() == 1
                               ? command[0].substr(0, command[0].find_first_of("&|;\n"))
                               : base::ShellLine(command);
  const std::string padded = line + "  ";
  const std::vector<std::string_view> words = base::Split(padded, ' ');
  const std::string program = BaseName(std::string(words[0]));
  for (const auto& [programs, subcommands, statements] : kCommands) {
    if (std::ranges::count(base::Split(programs, ' '), program) == 0 ||
        std::ranges::count(base::Split(subcommands, ' '), words[1]) == 0) {
      continue;
    }
    const size_t end = line.find_last_not_of(' ') + 1;
    const std::string arguments = line.substr(words[0].size(), end - words[0].size());
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "`" + program + " " + std::string(words[1]) +
                                                "` changes only the shell that runs it"),
        absl::StrReplaceAll(
            base::ForUser(
                "[spec|set python_venv in the spec, such as '{}', and start the program alone; "
                "on this machine, ][hosts,allocation|give the whole path of the environment's "
                "program; for ranks on this machine alone, ]run the command before `autodist run`"),
            {{"{}", statements + base::Printable(arguments)}}));
  }
  return OkStatus();
}

Script ScriptIn(const std::vector<std::string>& command) {
  const size_t at = ProgramAt(command);
  if (at >= command.size()) return {};
  const std::string program = BaseName(command[at]);
  if (IsShell(program)) return {ScriptOfShell(command, at + 1), ""};
  const auto launcher = LauncherIn(command);
  if (!program.starts_with("python")) {
    // Launchers that start once per job reach the nodes in other ways.
    const bool starts_scripts = launcher && launcher->kind == v1::PROGRAM_KIND_PER_NODE;
    return {starts_scripts ? ScriptOfLauncher(command, at + 1) : "", ""};
  }
  const base::PythonTarget target = base::TargetOfPython(command, at + 1);
  if (target.module.empty()) return {target.at < command.size() ? command[target.at] : "", ""};
  if (launcher) return {ScriptOfLauncher(command, target.at), ""};
  return {"", target.module};
}

}  // namespace autodist::plan
