#include "agent/prepare/probe.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <limits>
#include <string_view>

#include "agent/prepare/file_facts.h"
#include "agent/prepare/gpus.h"
#include "agent/prepare/node_health.h"
#include "agent/prepare/python.h"
#include "agent/prepare/rank_interfaces.h"
#include "agent/supervisor/run_program.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/ip_address.h"
#include "base/split.h"
#include "base/thread.h"
#include "base/wall_clock.h"
#include "process/spawn.h"

namespace autodist::agent {
namespace {

using process::Environment;

constexpr std::chrono::seconds kDigestLimit{10};  // for all files together

uint64_t LimitOf(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<uint64_t>::max() : limit.rlim_cur;
}

// Runs getent: only a dynamic program can resolve names like other programs of this node.
v1::NodeInfo HostnameAddresses(const std::string& hostname, const Environment& environment,
                               Supervisor& supervisor) {
  v1::NodeInfo facts;
  const ProgramCommand getent{{"getent", "ahosts", hostname}, environment, "/"};
  const auto output = RunProgram(getent, kProbeLimit, supervisor);
  if (!output.ok() || !output->failure.empty()) return facts;
  // "10.0.0.1       STREAM node1"; each address appears once per socket type.
  for (const std::string_view line : base::Lines(output->result)) {
    const std::string address(line.substr(0, line.find(' ')));
    const auto& known = facts.hostname_addresses();
    if (!base::IpAddress::Parse(address)) continue;
    if (std::find(known.begin(), known.end(), address) != known.end()) continue;
    facts.add_hostname_addresses(address);
  }
  return facts;
}

// Returns an identity of the kernel's boot and of this agent's network and PID namespaces; "":
// unknown. Containers and virtual hosts of one machine differ in one of these.
std::string ThisMachine() {
  constexpr size_t kMaxIdLength = 64;
  const auto boot = base::ReadFile("/proc/sys/kernel/random/boot_id", kMaxIdLength);
  if (!boot.ok()) return "";
  std::string machine = boot->substr(0, boot->find('\n'));
  for (const char* space : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    struct stat info;
    if (stat(space, &info) != 0) return "";
    machine += "/" + std::to_string(info.st_ino);
  }
  return machine;
}

GpuNames NamesFor(const ProbedNode& node) {
  return node.has_mig ? GpuNames::kWithMig : GpuNames::kNumbers;
}

// Collects facts that are cheap and need no process.
void AddCheapFacts(const v1::ProbeRequest& probe, const ProbedNode& node, v1::NodeInfo& facts) {
  facts.set_hostname(base::HostName());
  facts.set_machine(ThisMachine());
  if (const auto interfaces = base::LocalInterfaces(); interfaces.ok()) {
    for (const base::Interface& interface : *interfaces) {
      v1::InterfaceFact& fact = *facts.add_interfaces();
      fact.set_name(interface.name);
      fact.set_address(interface.address.ToString());
      fact.set_mtu(MtuOf(interface.name));
    }
    if (node.rank_environment) {
      for (v1::RankNetwork& network : RankNetworksOf(*node.rank_environment, *interfaces)) {
        *facts.add_rank_networks() = std::move(network);
      }
    }
  }
  *facts.mutable_working_directory() = DiskFactOf(node.working_directory);
  *facts.mutable_shared_memory() = DiskFactOf("/dev/shm");
  facts.set_memlock_limit(LimitOf(RLIMIT_MEMLOCK));
  facts.set_open_files_limit(LimitOf(RLIMIT_NOFILE));
  facts.set_driver_version(DriverVersion());
  const Environment environment =
      node.rank_environment.value_or(Environment::CleanLogin(Environment()));
  facts.set_no_accelerator(!MayHaveAccelerator(environment, node.working_directory));
  if (!node.rank_environment) return;
  facts.set_nccl_version(
      NcclVersion(node.rank_environment->Get("LD_LIBRARY_PATH"), node.working_directory));
  for (const std::string& name : probe.chief_variables()) {
    if (!node.rank_environment->Has(name)) facts.add_missing_variables(name);
  }
  for (const std::string& variable : node.rank_environment->ToStrings()) {
    if (variable.starts_with("NCCL_") || variable.starts_with("GLOO_")) {
      facts.add_variables(variable.substr(0, variable.find('=')));
    }
  }
  if (node.command.empty()) return;
  const auto program = process::FindProgram(node.command[0], node.rank_environment->Get("PATH"),
                                            node.working_directory);
  if (!program.ok()) return;
  // /bin is often a link to /usr/bin, and the nodes' PATHs name either first.
  std::error_code error;
  const bool linked = std::filesystem::equivalent(*program, "/usr" + *program, error);
  facts.set_program((linked ? "/usr" : "") + *program);
}

// The path is normalized, because the working directory may be missing: "../data" is beside it.
bool IsThere(const std::string& path, const ProbedNode& node) {
  if (path.find('/') == std::string::npos) {
    const std::string search = node.rank_environment ? node.rank_environment->Get("PATH") : "";
    return process::FindProgram(path, search, node.working_directory).ok();
  }
  const std::filesystem::path whole = std::filesystem::path(node.working_directory) / path;
  return access(whole.lexically_normal().c_str(), F_OK) == 0;
}

void AddFiles(const v1::ProbeRequest& probe, const ProbedNode& node, v1::NodeInfo& facts) {
  const base::Deadline deadline = base::Deadline::After(kDigestLimit);
  for (const std::string& file : probe.files()) {
    const bool absolute = file.starts_with('/');
    *facts.add_files() =
        DigestFact(absolute ? file : node.working_directory + "/" + file, deadline);
  }
  for (const std::string& file : probe.shared_files()) {
    *facts.add_shared_files() = SharedFileFact(file);
  }
  for (int i = 0; i < probe.paths_size(); ++i) {
    if (!IsThere(probe.paths(i), node)) facts.add_missing_paths(static_cast<uint32_t>(i));
  }
}

// Runs other programs in parallel. The arguments must outlive the answers.
std::vector<std::future<v1::NodeInfo>> AskPrograms(const v1::ProbeRequest& probe,
                                                   const ProbedNode& node,
                                                   const v1::NodeInfo& known,
                                                   Supervisor& supervisor) {
  const Environment environment =
      node.rank_environment.value_or(Environment::CleanLogin(Environment()));
  // Runs the programs without it too, to find other issues.
  const bool has_folder = access(node.working_directory.c_str(), X_OK) == 0;
  const std::string folder = has_folder ? node.working_directory : "/";
  std::vector<std::future<v1::NodeInfo>> answers;
  const auto ask = [&](auto question) { answers.push_back(base::Async(question)); };
  ask([hostname = known.hostname(), environment, &supervisor] {
    return HostnameAddresses(hostname, environment, supervisor);
  });
  ask([names = NamesFor(node), folder, environment, &supervisor] {
    return GpuFacts(environment, folder, supervisor, names);
  });
  if (known.program().empty()) return answers;
  const auto python = PythonOf(node.command, environment, folder);
  if (!python) return answers;
  ask([&probe, folder, python = *python, environment, &supervisor] {
    v1::NodeInfo facts;
    *facts.mutable_python() =
        PythonFacts(python, probe.python_modules(), environment, folder, supervisor);
    return facts;
  });
  ask([&probe, folder, python = *python, environment, &supervisor] {
    v1::NodeInfo facts;
    auto failed = TryImports(python, probe.imports(), environment, folder, supervisor);
    if (failed) *facts.mutable_python()->mutable_failed_import() = *std::move(failed);
    return facts;
  });
  return answers;
}

}  // namespace

v1::NodeInfo Probe(const v1::ProbeRequest& probe, const ProbedNode& node, Supervisor& supervisor) {
  v1::NodeInfo facts;
  AddCheapFacts(probe, node, facts);
  std::vector<std::future<v1::NodeInfo>> answers;
  if (probe.thorough()) {
    answers = AskPrograms(probe, node, facts, supervisor);
  } else if (probe.device_users() && node.has_gpus && node.rank_environment) {
    answers.push_back(base::Async([&] {
      return GpuUsers(*node.rank_environment, node.working_directory, supervisor, NamesFor(node));
    }));
  }
  if (probe.health() && node.rank_environment) {
    answers.push_back(base::Async([&] {
      return HardwareFaults(*node.rank_environment, node.working_directory, supervisor);
    }));
  }
  AddFiles(probe, node, facts);
  for (auto& answer : answers) facts.MergeFrom(answer.get());
  facts.set_time_ns(base::NanosecondsSince1970());
  return facts;
}

}  // namespace autodist::agent
