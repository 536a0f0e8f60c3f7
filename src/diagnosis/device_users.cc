// Checks whether other jobs or programs use the devices of the plan.
#include <absl/strings/str_join.h>

#include <algorithm>
#include <iterator>

#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

// On an idle GPU, the driver uses less.
constexpr uint64_t kTakenMemory = 1024 * kMiB;
constexpr char kBusyRemedy[] =
    "stop them, remove the device from the spec, or wait with --on-busy wait";

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

// "GPUs 0, 1", of the plan; "": the job has none of them.
std::string DevicesOf(const v1::OtherJob& job, const v1::NodePlan& node, const v1::NodeInfo& facts,
                      bool cpus) {
  std::vector<uint32_t> common;
  for (const uint32_t gpu : job.gpus()) {
    // Their processes are reported, with more detail.
    if (IsPlanned(node, v1::DEVICE_KIND_GPU, gpu) && !HasProcessOn(facts, job, gpu)) {
      common.push_back(gpu);
    }
  }
  const char* kind = "GPU";
  if (common.empty() && cpus) {
    kind = "CPU";
    std::ranges::copy_if(job.cpus(), std::back_inserter(common),
                         [&](uint32_t cpu) { return IsPlanned(node, v1::DEVICE_KIND_CPU, cpu); });
  }
  if (common.empty()) return "";
  return kind + std::string(common.size() == 1 ? " " : "s ") + absl::StrJoin(common, ", ");
}

}  // namespace

void CheckDeviceUsers(const Evidence& evidence, IssueList& issues) {
  if (!evidence.probe.device_users()) return;
  if (evidence.busy_devices == v1::CHECK_RESULT_UNSPECIFIED) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodePlan& plan = PlanOf(evidence, node);
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    const auto busy = [&](const std::string& what) {
      issues.Add(v1::CHECK_GPUS, evidence.busy_devices, node, what, kBusyRemedy);
    };
    for (const v1::GpuFact& gpu : facts.gpus()) {
      const std::string users = GpuUsersText(gpu);
      if (IsPlanned(plan, v1::DEVICE_KIND_GPU, gpu.index()) && !users.empty()) busy(users);
    }
    for (const v1::OtherJob& job : facts.other_jobs()) {
      // Of jobs that wait for the same devices the oldest is first; ids begin with the time.
      if (job.waiting() && job.job_id() > evidence.plan->job_id()) continue;
      const std::string devices = DevicesOf(job, plan, facts, evidence.cpus_can_be_busy);
      if (devices.empty()) continue;
      busy("your job " + job.job_id() + (job.waiting() ? " waits for " : " has ") + devices);
    }
  }
}

}  // namespace autodist::diagnosis
