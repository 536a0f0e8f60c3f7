#include "agent/prepare/prepare.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <future>
#include <set>
#include <system_error>

#include "agent/prepare/affinity.h"
#include "agent/prepare/data_address.h"
#include "agent/prepare/gpus.h"
#include "agent/prepare/local_checkpoint.h"
#include "agent/prepare/probe.h"
#include "agent/prepare/rank_interfaces.h"
#include "agent/supervisor/run_program.h"
#include "base/deadline.h"
#include "base/for_user.h"
#include "base/home_folder.h"
#include "base/ip_address.h"
#include "base/private_folder.h"
#include "base/thread.h"
#include "base/write_file.h"
#include "process/program_check.h"

namespace autodist::agent {
namespace {

using process::Environment;

constexpr std::chrono::milliseconds kFreeMemoryLimit{30'000};
// Enough for a local disk. Only a warning depends on it.
constexpr std::chrono::milliseconds kCheckpointLimit{1'000};

// `planned`: as in the plan, perhaps in the home folder.
std::optional<v1::PrepareIssue> CheckWorkingDirectory(const std::string& path,
                                                      const std::string& planned) {
  struct stat info;
  int error = stat(path.c_str(), &info) != 0 ? errno : 0;
  if (error == 0 && !S_ISDIR(info.st_mode)) error = ENOTDIR;
  if (error == 0 && access(path.c_str(), X_OK) != 0) error = errno;
  if (error == 0) return std::nullopt;
  return MakeIssue(v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY,
                   ErrnoError(error, "working directory " + path),
                   "put the program's folder at " +
                       (planned.starts_with("~") ? planned + ", in the home folder of every node"
                                                 : "the same absolute path on every node") +
                       " (a symbolic link will do); a program that needs no files runs in any "
                       "folder: --workdir /");
}

// Returns the interface for the ranks; "" with a warning if it is not found.
std::string InterfaceOf(const v1::NodePlan& node, const std::string& data_address,
                        std::vector<std::string>& warnings) {
  if (!node.interface().empty()) return node.interface();
  const auto interfaces = base::LocalInterfaces();
  if (!interfaces.ok()) {
    warnings.push_back(Message(interfaces.status()));
    return "";
  }
  RankInterface chosen = ChooseRankInterface(node, data_address, *interfaces, InterfaceTowards);
  if (!chosen.warning.empty()) warnings.push_back(std::move(chosen.warning));
  return chosen.name;
}

// Asks the loader of a binary for its libraries, unless a package of the system owns the binary.
// kNotFound: the loader does not find all. OK also if that is unknown. `name`: of the user.
Status CheckLibraries(const std::string& file, const std::string& name,
                      const Environment& environment, const std::string& directory,
                      Supervisor& supervisor) {
  std::error_code error;
  // The loader does not resolve the link itself if it is to expand $ORIGIN.
  const std::string real = std::filesystem::canonical(file, error);
  for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/lib/", "/bin/", "/sbin/"}) {
    if (real.starts_with(folder)) return OkStatus();
  }
  const std::string loader = process::LoaderOf(real);
  if (!loader.starts_with('/')) return OkStatus();
  // glibc's loader ends with 0 if only a version is missing.
  const auto output =
      RunProgram({{loader, "--list", real}, environment, directory}, kProbeLimit, supervisor);
  if (!output.ok() || output->timed_out) return OkStatus();
  return process::LibrariesMissing(name, output->said);
}

std::optional<v1::PrepareIssue> CheckProgram(const std::string& program,
                                             const std::string& directory,
                                             const Environment& environment,
                                             Supervisor& supervisor) {
  const process::ProgramPlace place{environment.Get("PATH"), directory};
  const auto found = process::FindProgram(program, place.path, directory);
  const bool in_path_unusable =
      found.status().code() == StatusCode::kPermissionDenied && program.find('/') == program.npos;
  Status why = found.ok()         ? process::CheckProgramFile(*found, program, place)
               : in_path_unusable ? found.status()
                                  : process::WhyNotFound(program, place);
  if (found.ok() && why.ok()) {
    why = CheckLibraries(*found, program, environment, directory, supervisor);
  }
  if (why.ok()) return std::nullopt;
  if (found.ok() && why.code() == StatusCode::kNotFound) {
    return MakeIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS, why, "install it on this node");
  }
  if (why.code() == StatusCode::kPermissionDenied) {
    return MakeIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_EXECUTABLE, why,
                     program.ends_with(".py") ? "write python3 before it"
                                              : "make it executable (chmod +x) on this node");
  }
  // Many distributions lack `python` outside of virtual environments.
  if (program == "python" && Remedy(why).empty() &&
      process::FindProgram("python3", environment.Get("PATH"), directory).ok()) {
    return MakeIssue(
        v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, why,
        base::ForUser(
            "write python3, which is[spec|, or activate an environment with python_venv]"));
  }
  return MakeIssue(
      v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, why,
      program.find('/') == program.npos
          ? base::ForUser("install it, or put its folder in PATH[spec| with python_venv or "
                          "shared_envs]")
          : "correct the path, or put the program there");
}

// Only a warning, because it may still run.
void WarnOfWindowsLines(const std::string& program, const std::string& script,
                        const std::string& directory, PreparedNode& prepared) {
  const std::string name = program.substr(program.rfind('/') + 1);
  const bool shell = name == "sh" || name == "bash" || name == "dash" || name == "zsh";
  const std::string file = script.starts_with('/') ? script : directory + "/" + script;
  if (!shell || !process::EndsLinesAsWindows(file)) return;
  prepared.warnings.push_back("the lines of " + script + " end as Windows has it, which " + name +
                              " treats as part of the arguments: sed -i 's/\\r$//' " + script);
}

// Checks each program once, however many ranks run it.
void CheckPrograms(const v1::NodePlan& node, const std::string& directory,
                   const Environment& environment, Supervisor& supervisor, PreparedNode& prepared) {
  std::set<std::string> programs;
  for (const v1::RankPlan& rank : node.ranks()) {
    if (rank.argv_size() == 0 || rank.by_agent() || !programs.insert(rank.argv(0)).second) continue;
    auto issue = CheckProgram(rank.argv(0), directory, environment, supervisor);
    if (issue) prepared.issues.push_back(*std::move(issue));
    if (rank.argv_size() > 1) WarnOfWindowsLines(rank.argv(0), rank.argv(1), directory, prepared);
  }
}

Status WriteFiles(const v1::NodePlan& node, const std::string& folder) {
  AD_RETURN_IF_ERROR(base::MakePrivateFolder(folder, "remove it"));
  for (const v1::PlannedFile& file : node.files()) {
    if (file.name().empty() || file.name().find('/') != std::string::npos ||
        file.name().starts_with('.')) {
      return Error(StatusCode::kInvalidArgument, "'" + file.name() + "' is no name for a file");
    }
    AD_RETURN_IF_ERROR(base::WriteFile(folder + "/" + file.name(), file.content(),
                                       base::IfExists::kReplace, base::Readers::kOwner));
  }
  return OkStatus();
}

// Creates the FIFO of one rank and sets its variable.
void SetProgress(uint32_t rank, const std::string& files, Environment& environment,
                 PreparedNode& prepared) {
  const std::string path = files + "/progress." + std::to_string(rank);
  environment.Set("AUTODIST_PROGRESS", path);
  prepared.progress[rank] = path;
}

RankCommand MakeRank(const v1::RankPlan& rank, const std::string& directory,
                     const std::string& agent_program, Environment environment) {
  for (const v1::EnvironmentVariable& variable : rank.environment()) {
    environment.Set(variable.name(), variable.value());
  }
  RankCommand command;
  command.rank = rank.rank();
  if (rank.by_agent()) command.spawn.argv.push_back(agent_program);
  command.spawn.argv.insert(command.spawn.argv.end(), rank.argv().begin(), rank.argv().end());
  command.spawn.environment = environment.ToStrings();
  command.spawn.working_directory = directory;
  if (rank.stdin() == v1::STDIN_KIND_PIPE) command.input = RankStdin::kPipe;
  if (rank.stdin() == v1::STDIN_KIND_TERMINAL) command.input = RankStdin::kTerminal;
  return command;
}

// Returns the first issue: the ranks' arguments are nearly the same.
std::optional<v1::PrepareIssue> CheckSizes(const std::vector<RankCommand>& ranks) {
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return std::nullopt;
  for (const RankCommand& rank : ranks) {
    const Status fits =
        process::CheckSizeOfArguments(rank.spawn.argv, rank.spawn.environment, stack.rlim_cur);
    if (!fits.ok()) return MakeIssue(v1::PREPARE_ISSUE_KIND_UNSPECIFIED, fits, "");
  }
  return std::nullopt;
}

bool HasGpus(const v1::NodePlan& node) {
  return std::ranges::any_of(node.devices(), [](const v1::Device& device) {
    return device.kind() == v1::DEVICE_KIND_GPU;
  });
}

// Ranks also run without it.
void SetAffinityIfWanted(const v1::NodePlan& node, const Environment& environment,
                         Supervisor& supervisor, PreparedNode& prepared) {
  const bool on_gpus = std::ranges::any_of(node.ranks(), [](const v1::RankPlan& rank) {
    return rank.device().kind() == v1::DEVICE_KIND_GPU;
  });
  if (!on_gpus || !node.gpu_affinity()) return;
  const auto topology = Topology::OfThisNode();
  const Status set = topology.ok()
                         ? SetAffinity(node, *topology, environment, supervisor, prepared.ranks)
                         : topology.status();
  if (!set.ok()) {
    prepared.warnings.push_back("ranks are not kept on the CPUs near their GPUs: " + Message(set));
  }
}

std::string JobOf(const v1::PrepareRequest& request) {
  for (const auto* variables : {&request.environment(), &request.node().ranks(0).environment()}) {
    const auto job =
        std::ranges::find(*variables, "AUTODIST_JOB_ID", &v1::EnvironmentVariable::name);
    if (job != variables->end()) return job->value();
  }
  return "";
}

// If no memory is free, ranks are started nevertheless. `before`: at the first call, when none of
// the job's ranks has run on the node.
void FreeGpus(const v1::PrepareRequest& request, const Environment& environment,
              const std::string& directory, std::optional<UnseenMemory>& before,
              const std::stop_token& stop, Supervisor& supervisor, PreparedNode& prepared) {
  const v1::NodePlan& node = request.node();
  if (!HasGpus(node) || node.ranks().empty()) return;
  if (!before) {
    const bool known = prepared.facts && prepared.facts->gpus_size() > 0;
    before = UnseenOf(known ? *prepared.facts : GpuUsers(environment, directory, supervisor));
    return;
  }
  if (!request.frees_gpus()) return;
  for (const std::string& left : AwaitFreeMemory(node, JobOf(request), *before, environment,
                                                 directory, kFreeMemoryLimit, stop, supervisor)) {
    prepared.warnings.push_back("the previous attempt has ended, but " + left);
  }
}

void ProbeNode(const v1::PrepareRequest& request, const std::string& directory,
               Supervisor& supervisor, PreparedNode& prepared) {
  const v1::NodePlan& node = request.node();
  ProbedNode examined;
  examined.working_directory = directory;
  examined.has_gpus = HasGpus(node);
  examined.has_mig = std::ranges::any_of(
      node.devices(), [](const v1::Device& device) { return device.uuid().starts_with("MIG-"); });
  examined.rank_environment = prepared.environment;
  if (node.ranks_size() > 0) {
    examined.command.assign(node.ranks(0).argv().begin(), node.ranks(0).argv().end());
  }
  v1::NodeInfo shared;
  prepared.marks = MarkFolders(request.probe(), node.node_rank(), shared);
  prepared.facts = Probe(request.probe(), examined, supervisor);
  prepared.facts->MergeFrom(shared);
}

void MakeRanks(const v1::PrepareRequest& request, const std::string& directory,
               const AgentPlace& agent, const Environment& environment, PreparedNode& prepared) {
  Environment of_ranks = environment;
  for (const v1::EnvironmentVariable& variable : request.environment()) {
    of_ranks.Set(variable.name(), variable.value());
  }
  for (const v1::RankPlan& rank : request.node().ranks()) {
    Environment own = rank.auxiliary() ? environment : of_ranks;
    if (!rank.auxiliary()) SetProgress(rank.rank(), agent.files, own, prepared);
    prepared.ranks.push_back(MakeRank(rank, directory, agent.program, std::move(own)));
  }
}

}  // namespace

v1::PrepareIssue MakeIssue(v1::PrepareIssueKind kind, const Status& why,
                           const std::string& otherwise) {
  const std::string remedy = Remedy(why);
  v1::PrepareIssue issue;
  issue.set_kind(kind);
  issue.set_cause(Message(why));
  issue.set_remedy(remedy.empty() ? otherwise : remedy);
  return issue;
}

PreparedNode PrepareNode(const v1::PrepareRequest& request, const Environment& agent_environment,
                         const AgentPlace& agent, PrepareState& state, Supervisor& supervisor,
                         std::chrono::milliseconds limit, const std::stop_token& stop) {
  base::SetNodeSource(static_cast<base::NodeSource>(request.node_source()));
  const v1::NodePlan& node = request.node();
  const std::string directory = base::ExpandHome(request.working_directory());
  PreparedNode prepared;
  const auto report = [&](std::optional<v1::PrepareIssue> issue) {
    if (issue) prepared.issues.push_back(std::move(*issue));
    return prepared.issues.empty();
  };

  const std::string data_address = DataAddressOf(node, agent_environment.Get("SSH_CONNECTION"));
  if (node.ask_data_address()) prepared.data_address = data_address;
  const bool has_directory = report(CheckWorkingDirectory(directory, request.working_directory()));
  const NodeValues values{agent.program, agent.rank_socket, agent.files,
                          InterfaceOf(node, data_address, prepared.warnings), directory};
  // Applied even without the working directory, so that both issues are reported at once.
  const Result<Environment> environment =
      TakeSteps(node.environment(), agent_environment, values,
                {has_directory ? directory : "/", limit, stop}, state.activations, supervisor);
  if (!environment.ok()) {
    report(MakeIssue(v1::PREPARE_ISSUE_KIND_ACTIVATION, environment.status(),
                     "run the statements on the node in `bash --noprofile --norc`; if a failure is "
                     "harmless, write `statement || true`"));
  } else {
    const Status written = WriteFiles(node, agent.files);
    if (!written.ok()) {
      report(MakeIssue(
          v1::PREPARE_ISSUE_KIND_UNSPECIFIED, written,
          "the job's folder on this node, " + agent.files + ", must be writable and have room"));
    }
    CheckPrograms(node, directory, *environment, supervisor, prepared);
  }
  if (prepared.issues.empty()) {
    MakeRanks(request, directory, agent, *environment, prepared);
    report(CheckSizes(prepared.ranks));
    if (!prepared.issues.empty()) prepared.ranks.clear();
  }
  if (environment.ok()) prepared.environment = *environment;
  std::future<LocalCheckpoint> checkpoint;
  const auto checkpoint_by = base::Deadline::After(kCheckpointLimit);
  if (request.has_checkpoints()) {
    checkpoint = SearchLocalCheckpoint(request.checkpoints(), directory);
  }
  // In parallel with the probe, because both may have to run nvidia-smi, which is slow.
  std::future<void> affinity;
  if (prepared.issues.empty()) {
    affinity = base::Async([&] { SetAffinityIfWanted(node, *environment, supervisor, prepared); });
  }
  if (request.has_probe()) ProbeNode(request, directory, supervisor, prepared);
  if (affinity.valid()) affinity.get();
  if (prepared.issues.empty()) {
    FreeGpus(request, *environment, directory, state.memory_before, stop, supervisor, prepared);
  }
  if (checkpoint.valid() &&
      checkpoint.wait_until(checkpoint_by.when()) == std::future_status::ready) {
    prepared.checkpoint = checkpoint.get();
  }
  return prepared;
}

}  // namespace autodist::agent
