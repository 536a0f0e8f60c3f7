// Checks whether the nodes have the GPUs of the spec, and whether others use the devices of the
// plan.
#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include "base/for_user.h"
#include "base/quantity.h"
#include "diagnosis/hardware_faults.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

std::vector<const v1::Device*> PlannedGpus(const v1::NodePlan& node) {
  std::vector<const v1::Device*> gpus;
  for (const v1::Device& device : node.devices()) {
    if (device.kind() == v1::DEVICE_KIND_GPU) gpus.push_back(&device);
  }
  return gpus;
}

// "0, 7", or "GPU-8932f937".
std::string Names(const std::vector<const v1::Device*>& gpus) {
  return absl::StrJoin(gpus, ", ", [](std::string* text, const v1::Device* gpu) {
    *text += gpu->uuid().empty() ? std::to_string(gpu->index()) : gpu->uuid();
  });
}

// The spec's syntax for ranks on CPUs: "cpus: [0, 1]".
std::string CpusFor(size_t ranks) {
  constexpr size_t kShown = 4;
  std::string text = "cpus: [";
  for (size_t i = 0; i < ranks && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(i);
  }
  return text + (ranks > kShown ? ", ...]" : "]");
}

// The UUID of the spec may be the beginning of the GPU's UUID.
bool Has(const v1::NodeInfo& facts, const v1::Device& device) {
  const std::string& uuid = device.uuid();
  return std::ranges::any_of(facts.gpus(), [&](const v1::GpuFact& gpu) {
    if (uuid.empty()) return gpu.index() == device.index();
    const auto begins = [&](const std::string& own) { return own.starts_with(uuid); };
    return begins(gpu.uuid()) || std::ranges::any_of(gpu.mig_uuids(), begins);
  });
}

// False for a MIG device if nvidia-smi did not list any: its name is unknown.
bool IsDecidable(const v1::NodeInfo& facts, const v1::Device& device) {
  if (device.uuid().empty()) return true;
  const bool mig = device.uuid().starts_with("MIG-");
  return std::ranges::any_of(facts.gpus(), [&](const v1::GpuFact& gpu) {
    return mig ? gpu.mig_uuids_size() > 0 && !device.uuid().starts_with("MIG-GPU-")
               : !gpu.uuid().empty();
  });
}

// Whether CheckHealth reports that nvidia-smi fails, with its cause.
bool IsKnownFault(const v1::NodePlan& node, const v1::NodeInfo& facts) {
  const auto faults = FaultsThatConcern(node, facts);
  return std::ranges::count(faults, "nvidia-smi", &v1::HardwareFault::source) > 0;
}

void ReportMissing(const std::vector<const v1::Device*>& missing, const v1::NodeInfo& facts,
                   uint32_t node, IssueList& issues) {
  const bool one = missing.size() == 1;
  const bool named = !missing[0]->uuid().empty();
  issues.Bad(v1::CHECK_DEVICES, node,
             (one     ? (named ? "" : "GPU ")
              : named ? ""
                      : "GPUs ") +
                 Names(missing) + base::ForUser("[spec| of the spec]") + (one ? " is" : " are") +
                 " not there: found " + base::Count(static_cast<size_t>(facts.gpus_size()), "GPU"),
             base::ForUser(
                 "[spec|correct `gpus` in the spec, or ]check the driver (nvidia-smi -L, dmesg)"));
}

// On an idle GPU, the driver uses less.
constexpr uint64_t kTakenMemory = 1024 * kMiB;
constexpr char kBusyGpuRemedy[] =
    "stop what uses it, give the job another GPU, or wait with --on-busy wait";
constexpr char kBusyJobRemedy[] =
    "stop that job, give this one other devices, or wait with --on-busy wait";

// "python (pid 7, of ann, job 20261120-173000-3fa9c1, 3000 MiB)"
std::string ProcessText(const v1::GpuProcess& process) {
  std::string text = process.name() + " (pid " + std::to_string(process.pid());
  if (!process.user().empty()) text += ", of " + process.user();
  if (!process.job_id().empty()) text += ", job " + process.job_id();
  if (process.memory_used() > 0) text += ", " + MiB(process.memory_used());
  return text + ")";
}

// "": the GPU is not in use.
std::string GpuUsersText(const v1::GpuFact& gpu) {
  const std::string name = "GPU " + std::to_string(gpu.index());
  if (gpu.processes().empty()) {
    if (gpu.memory_used() < kTakenMemory) return "";
    return name + " is in use: " + MiB(gpu.memory_used()) +
           " taken, by no process that can be seen on the node";
  }
  const std::string users = absl::StrJoin(
      gpu.processes(), ", ",
      [](std::string* text, const v1::GpuProcess& process) { *text += ProcessText(process); });
  return name + " is in use: " + users + ", " + MiB(gpu.memory_used()) + " taken";
}

bool IsPlanned(const v1::NodePlan& node, v1::DeviceKind kind, uint32_t index) {
  return std::ranges::any_of(node.devices(), [&](const v1::Device& device) {
    return device.kind() == kind && device.uuid().empty() && device.index() == index;
  });
}

bool HasProcessOn(const v1::NodeInfo& facts, const v1::OtherJob& job, uint32_t gpu_index) {
  return std::ranges::any_of(facts.gpus(), [&](const v1::GpuFact& gpu) {
    return gpu.index() == gpu_index &&
           std::ranges::count(gpu.processes(), job.job_id(), &v1::GpuProcess::job_id) > 0;
  });
}

struct CommonDevices {
  v1::DeviceKind kind;
  std::vector<uint32_t> indices;
};

// Returns the devices of the plan that the job has, or has asked for.
CommonDevices DevicesOf(const v1::OtherJob& job, const v1::NodePlan& node,
                        const v1::NodeInfo& facts, bool cpus) {
  std::vector<uint32_t> common;
  for (const uint32_t gpu : job.gpus()) {
    // Their processes are reported, with more detail.
    if (IsPlanned(node, v1::DEVICE_KIND_GPU, gpu) && !HasProcessOn(facts, job, gpu)) {
      common.push_back(gpu);
    }
  }
  if (!common.empty() || !cpus) return {v1::DEVICE_KIND_GPU, common};
  std::ranges::copy_if(job.cpus(), std::back_inserter(common),
                       [&](uint32_t cpu) { return IsPlanned(node, v1::DEVICE_KIND_CPU, cpu); });
  return {v1::DEVICE_KIND_CPU, common};
}

// "GPUs 0, 1"
std::string DevicesText(const CommonDevices& devices) {
  return std::string(devices.kind == v1::DEVICE_KIND_CPU ? "CPU" : "GPU") +
         (devices.indices.size() == 1 ? " " : "s ") + absl::StrJoin(devices.indices, ", ");
}

}  // namespace

bool HasGpus(const v1::NodePlan& node) { return !PlannedGpus(node).empty(); }

void CheckGpus(const Evidence& evidence, IssueList& issues) {
  if (!evidence.probe.thorough() && !evidence.probe.device_users()) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    const std::vector<const v1::Device*> planned = PlannedGpus(PlanOf(evidence, node));
    if (const auto why = evidence.uncounted.find(NameOf(evidence, node));
        why != evidence.uncounted.end()) {
      issues.Bad(v1::CHECK_DEVICES, node, "the GPUs cannot be counted: " + Message(why->second),
                 Remedy(why->second));
      continue;
    }
    if (planned.empty()) continue;
    if (facts.no_accelerator()) {
      issues.Bad(
          v1::CHECK_DEVICES, node,
          base::ForUser("no GPU there; [spec|the spec lists gpus][hosts,allocation,here|its ranks "
                        "need GPUs]") +
              " [" + Names(planned) + "]",
          absl::StrReplaceAll(base::ForUser("[spec|correct `gpus` in the spec; for ranks on its "
                                            "CPUs, write {} in their place]"),
                              {{"{}", CpusFor(planned.size())}}));
      continue;
    }
    const bool none = facts.gpus().empty();
    const std::string& error = facts.gpu_error();
    if (!facts.gpu_warning().empty()) {
      issues.Warn(v1::CHECK_DEVICES, node, "nvidia-smi says: " + facts.gpu_warning(), "");
    }
    if (none && facts.gpu_failure() == v1::GPU_FAILURE_NO_GPU) {
      ReportMissing(planned, facts, node, issues);
    } else if (!error.empty() && !IsKnownFault(PlanOf(evidence, node), facts)) {
      issues.Warn(v1::CHECK_DEVICES, node, (none ? "cannot query the GPUs: " : "") + error,
                  facts.gpu_failure() == v1::GPU_FAILURE_HANGS
                      ? "run nvidia-smi on the node; if it hangs, the driver or a GPU hangs"
                  : none && facts.gpu_failure() == v1::GPU_FAILURE_FAILS
                      ? "run nvidia-smi on the node, and correct what it reports"
                      : "");
    }
    if (none) continue;  // GPUs of other vendors are unknown
    issues.Checked(v1::CHECK_DEVICES, node);
    std::vector<const v1::Device*> missing;
    std::ranges::copy_if(planned, std::back_inserter(missing), [&](const v1::Device* device) {
      return IsDecidable(facts, *device) && !Has(facts, *device);
    });
    if (!missing.empty()) ReportMissing(missing, facts, node, issues);
  }
}

void CheckDeviceUsers(const Evidence& evidence, IssueList& issues) {
  if (!evidence.probe.device_users()) return;
  if (evidence.busy_devices == v1::CHECK_RESULT_UNSPECIFIED) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodePlan& plan = PlanOf(evidence, node);
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    const auto busy = [&](const std::string& what, const char* remedy) {
      issues.Add(v1::CHECK_DEVICES, evidence.busy_devices, node, what, remedy);
    };
    std::set<std::pair<v1::DeviceKind, uint32_t>> in_use;
    for (const v1::GpuFact& gpu : facts.gpus()) {
      const std::string users = GpuUsersText(gpu);
      if (!IsPlanned(plan, v1::DEVICE_KIND_GPU, gpu.index()) || users.empty()) continue;
      in_use.emplace(v1::DEVICE_KIND_GPU, gpu.index());
      busy(users, kBusyGpuRemedy);
    }
    for (const v1::OtherJob& job : facts.other_jobs()) {
      if (job.waiting()) continue;
      const CommonDevices devices = DevicesOf(job, plan, facts, evidence.cpus_can_be_busy);
      if (devices.indices.empty()) continue;
      for (const uint32_t index : devices.indices) in_use.emplace(devices.kind, index);
      busy("your job " + job.job_id() + " has " + DevicesText(devices), kBusyJobRemedy);
    }
    for (const v1::OtherJob& job : facts.other_jobs()) {
      // Of jobs that wait for the same devices the oldest is first; ids begin with the time.
      if (!job.waiting() || job.job_id() > evidence.plan->job_id()) continue;
      CommonDevices devices = DevicesOf(job, plan, facts, evidence.cpus_can_be_busy);
      // It waits for those in use, too, and does not have them.
      std::erase_if(devices.indices, [&](uint32_t index) {
        return in_use.contains({devices.kind, index});
      });
      if (devices.indices.empty()) continue;
      busy("your job " + job.job_id() + " has asked for " + DevicesText(devices), kBusyJobRemedy);
    }
  }
}

}  // namespace autodist::diagnosis
