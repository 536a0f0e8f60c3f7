#include "agent/prepare/gpus.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <future>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "agent/prepare/probe.h"
#include "agent/supervisor/run_program.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/thread.h"
#include "health/accelerator.h"
#include "health/nvidia_smi.h"
#include "process/spawn.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestVersionFile = 64 << 10;  // bytes
// Only necessary fields: nvidia-smi rejects the whole query if one is unknown.
constexpr char kGpuQuery[] = "--query-gpu=index,name,uuid,memory.used";
constexpr char kBusQuery[] = "--query-gpu=index,pci.bus_id,name";
constexpr std::string_view kWarning = "WARNING: ";  // "infoROM is corrupted at gpu ..."
// Printed if the driver is installed but sees no GPU.
constexpr std::string_view kNoDevices = "No devices were found";
constexpr char kProcessQuery[] = "--query-compute-apps=gpu_uuid,pid,used_memory,process_name";

// Splits a line of CSV into `count` fields; the last one has the rest, including commas. Empty if
// there are fewer.
std::vector<std::string_view> Fields(std::string_view line, size_t count) {
  constexpr std::string_view kSeparator = ", ";
  std::vector<std::string_view> fields;
  while (fields.size() + 1 < count) {
    const size_t end = line.find(kSeparator);
    if (end == std::string_view::npos) return {};
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end + kSeparator.size());
  }
  fields.push_back(line);
  return fields;
}

// Returns the digits and dots at the start of `text`.
std::string VersionAt(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), [](char c) {
    return !std::isdigit(static_cast<unsigned char>(c)) && c != '.';
  });
  return {text.begin(), end};
}

std::string VersionAfter(std::string_view text, std::string_view label) {
  const size_t found = text.find(label);
  return found == std::string_view::npos ? "" : VersionAt(text.substr(found + label.size()));
}

std::string OneOf(std::string first, std::string second) {
  return first.empty() ? std::move(second) : std::move(first);
}

bool Failed(const ProgramOutput& output) {
  return !output.failure.empty() && output.exit_code != health::kBadInfoRom;
}

// First without the job's libraries, which may include a stub of the driver's; then with them,
// because some containers only have the driver's there.
Result<ProgramOutput> RunNvidiaSmi(const std::vector<std::string>& argv,
                                   const process::Environment& environment,
                                   Supervisor& supervisor) {
  const process::Environment own = environment.ForOurPrograms();
  const base::Deadline deadline = base::Deadline::After(kProbeLimit);
  auto output = RunProgram({argv, own, "/"}, kProbeLimit, supervisor);
  const bool failed = !output.ok() || Failed(*output);
  if (!failed || deadline.Expired() || own.ToStrings() == environment.ToStrings()) return output;
  return RunProgram({argv, environment, "/"}, std::chrono::milliseconds(deadline.PollTimeout()),
                    supervisor);
}

// Returns the output, or a failure that quotes it.
Result<std::string> Ask(const std::vector<std::string>& argv,
                        const process::Environment& environment, Supervisor& supervisor) {
  AD_ASSIGN_OR_RETURN(ProgramOutput output, RunNvidiaSmi(argv, environment, supervisor));
  if (!Failed(output)) return std::move(output.result);
  // Errors may be on either stream.
  const std::string words = OneOf(output.said, std::move(output.result));
  const auto lines = base::Lines(words);
  return Error(
      output.timed_out ? StatusCode::kDeadlineExceeded : StatusCode::kUnavailable,
      "nvidia-smi " + output.failure + (lines.empty() ? "" : ": " + std::string(lines[0])));
}

void SetFailure(const Status& failure, v1::NodeInfo& facts) {
  const bool hangs = failure.code() == StatusCode::kDeadlineExceeded;
  const bool none = Message(failure).find(kNoDevices) != std::string::npos;
  facts.set_gpu_error(Message(failure));
  facts.set_gpu_failure(hangs  ? v1::GPU_FAILURE_HANGS
                        : none ? v1::GPU_FAILURE_NO_GPU
                               : v1::GPU_FAILURE_FAILS);
}

using GpusByUuid = std::map<std::string, int, std::less<>>;  // indices in the facts

GpusByUuid AddGpus(std::string_view printed, v1::NodeInfo& facts) {
  GpusByUuid gpus;
  for (const std::string_view line : base::Lines(printed)) {
    const auto fields = Fields(line, 4);
    const auto index = fields.empty() ? std::nullopt : base::ParseNumber<uint32_t>(fields[0]);
    if (line.starts_with(kWarning)) {
      facts.set_gpu_warning(std::string(line));
      continue;
    }
    if (!index) {
      SetFailure(Error(StatusCode::kUnavailable, "nvidia-smi says: " + std::string(line)), facts);
      break;
    }
    gpus.emplace(fields[2], facts.gpus_size());
    v1::GpuFact& gpu = *facts.add_gpus();
    gpu.set_index(*index);
    gpu.set_name(std::string(fields[1]));
    gpu.set_uuid(std::string(fields[2]));
    gpu.set_memory_used(base::ParseNumber<uint64_t>(fields[3]).value_or(0) << 20);  // in MiB
  }
  return gpus;
}

// Parses the output of `nvidia-smi -L`: "GPU 0: A100 (UUID: GPU-...)", followed by a line for each
// MIG device, "  MIG 1g.10gb Device 0: (UUID: MIG-...)".
void AddMigUuids(std::string_view printed, const GpusByUuid& gpus, v1::NodeInfo& facts) {
  constexpr std::string_view kUuid = "(UUID: ";
  auto gpu = gpus.end();
  for (const std::string_view line : base::Lines(printed)) {
    const size_t begin = line.find(kUuid);
    if (begin == std::string_view::npos) continue;
    std::string_view uuid = line.substr(begin + kUuid.size());
    uuid = uuid.substr(0, uuid.find(')'));
    if (line.starts_with("GPU ")) {
      gpu = gpus.find(uuid);
    } else if (gpu != gpus.end() && uuid.starts_with("MIG-")) {
      facts.mutable_gpus(gpu->second)->add_mig_uuids(std::string(uuid));
    }
  }
}

void AddProcesses(std::string_view printed, const GpusByUuid& gpus, v1::NodeInfo& facts) {
  for (const std::string_view line : base::Lines(printed)) {
    const auto fields = Fields(line, 4);
    if (fields.empty()) continue;
    const auto gpu = gpus.find(fields[0]);
    const auto pid = base::ParseNumber<int32_t>(fields[1]);
    if (gpu == gpus.end() || !pid) continue;
    v1::GpuProcess& process = *facts.mutable_gpus(gpu->second)->add_processes();
    process.set_pid(*pid);
    process.set_memory_used(base::ParseNumber<uint64_t>(fields[2]).value_or(0) << 20);
    process.set_name(std::string(fields[3]));
  }
}

std::string CommandOf(const std::string& proc_folder) {
  constexpr size_t kLongestCommand = 64;
  const std::string name = base::ReadFile(proc_folder + "/comm", kLongestCommand).value_or("");
  return name.empty() ? "a process" : name.substr(0, name.find('\n'));
}

// Runs getent: only a dynamic program can resolve the node's users, and the agent is static.
std::map<uid_t, std::string> UserNames(const std::set<uid_t>& users,
                                       const process::Environment& environment,
                                       Supervisor& supervisor) {
  std::map<uid_t, std::string> names;
  if (users.empty()) return names;
  ProgramCommand getent{{"getent", "passwd"}, environment, "/"};
  for (const uid_t user : users) {
    getent.argv.push_back(std::to_string(user));
    names[user] = "uid " + std::to_string(user);
  }
  const auto output = RunProgram(getent, kProbeLimit, supervisor);
  if (!output.ok()) return names;
  for (const std::string_view line : base::Lines(output->result)) {
    const auto fields = base::Split(line, ':');  // name, password, uid, ...
    const auto user = fields.size() > 2 ? base::ParseNumber<uid_t>(fields[2]) : std::nullopt;
    if (user && names.contains(*user)) names[*user] = fields[0];
  }
  return names;
}

// A process that is not visible here, for example in another container, has no owner.
void AddOwners(const process::Environment& environment, Supervisor& supervisor,
               v1::NodeInfo& facts) {
  std::map<v1::GpuProcess*, uid_t> owners;
  std::set<uid_t> users;
  for (v1::GpuFact& gpu : *facts.mutable_gpus()) {
    for (v1::GpuProcess& process : *gpu.mutable_processes()) {
      const std::string folder = "/proc/" + std::to_string(process.pid());
      struct stat info;
      if (stat(folder.c_str(), &info) != 0) continue;
      owners[&process] = info.st_uid;
      users.insert(info.st_uid);
      process.set_job_id(JobOfProcess(folder));
      // "[Not Found]" or "[No data]", for example while it ends.
      if (process.name().starts_with('[')) process.set_name(CommandOf(folder));
    }
  }
  const std::map<uid_t, std::string> names = UserNames(users, environment, supervisor);
  for (const auto& [process, user] : owners) process->set_user(names.at(user));
}

}  // namespace

std::string JobOfProcess(const std::string& proc_folder) {
  return process::Environment::OfProcess(proc_folder).Get("AUTODIST_JOB_ID");
}

Result<std::string> FindNvidiaSmi(const process::Environment& environment,
                                  const std::string& working_directory, const std::string& root) {
  std::string path = environment.Get("PATH");
  const char* own = std::getenv("PATH");
  const std::string others = std::string(own ? own : "") + ":" + health::kUsualFolders;
  for (const std::string_view folder : base::Split(others, ':')) {
    if (folder.starts_with('/')) path += (path.empty() ? "" : ":") + root + std::string(folder);
  }
  return process::FindProgram("nvidia-smi", path, working_directory);
}

bool MayHaveAccelerator(const process::Environment& environment,
                        const std::string& working_directory, const std::string& root) {
  if (health::MayHaveAccelerator(root)) return true;
  if (FindNvidiaSmi(environment, working_directory, root).ok()) return true;
  const std::string path = environment.Get("PATH");
  return std::ranges::any_of(
      std::vector<std::string>{"rocm-smi", "amd-smi", "npu-smi", "hl-smi", "neuron-ls"},
      [&](const std::string& program) {
        return process::FindProgram(program, path, working_directory).ok();
      });
}

std::string DriverVersion(const std::string& driver_folder) {
  const auto text = base::ReadFile(driver_folder + "/version", kLargestVersionFile);
  if (!text.ok()) return "";
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ..."
  for (const std::string_view line : base::Lines(*text)) {
    for (const std::string_view word : base::Split(line, ' ')) {
      if (word.find('.') != std::string_view::npos && VersionAt(word) == word) {
        return std::string(word);
      }
    }
  }
  return "";
}

Result<std::string> DescribeGpus(const process::Environment& environment,
                                 const std::string& working_directory, Supervisor& supervisor,
                                 const std::string& root) {
  const auto program = FindNvidiaSmi(environment, working_directory, root);
  if (!program.ok()) return Error(StatusCode::kNotFound, Message(program.status()));
  AD_ASSIGN_OR_RETURN(std::string xml, Ask({*program, "-q", "-x"}, environment, supervisor));
  xml.resize(xml.rfind('>') + 1);  // a warning may follow
  return xml;
}

v1::NodeInfo GpuUsers(const process::Environment& environment, const std::string& working_directory,
                      Supervisor& supervisor, GpuNames names) {
  v1::NodeInfo facts;
  const auto program = FindNvidiaSmi(environment, working_directory);
  if (!program.ok()) return facts;
  std::future<Result<std::string>> list;
  if (names == GpuNames::kWithMig) {
    list = base::Async([&] { return Ask({*program, "-L"}, environment, supervisor); });
  }
  const auto ask = [&](const char* query) {
    return Ask({*program, query, "--format=csv,noheader,nounits"}, environment, supervisor);
  };
  auto processes = base::Async([&ask] { return ask(kProcessQuery); });
  const Result<std::string> gpus = ask(kGpuQuery);
  if (!gpus.ok()) {
    SetFailure(gpus.status(), facts);
    return facts;
  }
  const GpusByUuid by_uuid = AddGpus(*gpus, facts);
  if (const auto printed = processes.get(); printed.ok()) AddProcesses(*printed, by_uuid, facts);
  if (list.valid()) {
    if (const auto printed = list.get(); printed.ok()) AddMigUuids(*printed, by_uuid, facts);
  }
  AddOwners(environment, supervisor, facts);
  return facts;
}

v1::NodeInfo GpuFacts(const process::Environment& environment, const std::string& working_directory,
                      Supervisor& supervisor, GpuNames names, const std::string& root) {
  v1::NodeInfo facts;
  const std::string driver_folder = root + kDriverFolder;
  const auto program = FindNvidiaSmi(environment, working_directory, root);
  if (!program.ok()) {
    if (access(driver_folder.c_str(), F_OK) == 0) {
      facts.set_gpu_error("the NVIDIA driver is loaded, but " + Message(program.status()));
    }
    return facts;
  }
  auto overview = base::Async([&] { return Ask({*program}, environment, supervisor); });
  facts = GpuUsers(environment, working_directory, supervisor, names);
  if (const auto printed = overview.get(); printed.ok()) {
    // The second labels are those of drivers since 610.
    facts.set_cuda_version(OneOf(VersionAfter(*printed, "CUDA Version: "),
                                 VersionAfter(*printed, "CUDA UMD Version: ")));
    facts.set_driver_version(
        OneOf(VersionAfter(*printed, "Driver Version: "), VersionAfter(*printed, "KMD Version: ")));
  }
  if (std::string version = DriverVersion(driver_folder); !version.empty()) {
    facts.set_driver_version(std::move(version));
  }
  return facts;
}

Result<std::map<uint32_t, std::string>> GpuBusIds(const process::Environment& environment,
                                                  const std::string& working_directory,
                                                  Supervisor& supervisor) {
  std::map<uint32_t, std::string> bus_ids;
  const auto program = FindNvidiaSmi(environment, working_directory);
  if (!program.ok()) return bus_ids;
  AD_ASSIGN_OR_RETURN(const std::string printed,
                      Ask({*program, kBusQuery, "--format=csv,noheader"}, environment, supervisor));
  std::set<std::string_view> kinds;
  for (const std::string_view line : base::Lines(printed)) {
    const auto fields = Fields(line, 3);
    const auto index = fields.empty() ? std::nullopt : base::ParseNumber<uint32_t>(fields[0]);
    if (line.starts_with(kWarning)) continue;
    if (!index) return Error(StatusCode::kUnavailable, "nvidia-smi says: " + std::string(line));
    bus_ids[*index] = fields[1];
    kinds.insert(fields[2]);
  }
  if (kinds.size() > 1 && environment.Get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID") bus_ids.clear();
  return bus_ids;
}

}  // namespace autodist::agent
