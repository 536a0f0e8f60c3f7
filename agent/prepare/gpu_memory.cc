#include "agent/prepare/gpu_memory.h"

#include <algorithm>
#include <thread>

#include "agent/prepare/gpus.h"
#include "base/deadline.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookAgain{100};
constexpr uint64_t kMebibyte = 1 << 20;
// On an idle GPU, the driver uses less.
constexpr uint64_t kTakenMemory = 1024 * kMebibyte;

bool IsPlanned(const v1::NodePlan& node, const v1::GpuFact& gpu) {
  return std::ranges::any_of(node.devices(), [&](const v1::Device& device) {
    if (device.kind() != v1::DEVICE_KIND_GPU) return false;
    return device.uuid().empty() ? device.index() == gpu.index() : device.uuid() == gpu.uuid();
  });
}

std::string Amount(uint64_t bytes) { return std::to_string(bytes / kMebibyte) + " MiB"; }

// "": none is left.
std::string LeftOn(const v1::GpuFact& gpu, const std::string& job, const UnseenMemory& before,
                   const UnseenMemory& now) {
  const std::string gpu_has = "GPU " + std::to_string(gpu.index()) + " still has ";
  for (const v1::GpuProcess& process : gpu.processes()) {
    if (process.job_id() != job) continue;
    return gpu_has + Amount(std::max(process.memory_used(), gpu.memory_used())) + " in use, of " +
           process.name() + " (pid " + std::to_string(process.pid()) + ", of " + process.user() +
           ")";
  }
  const auto earlier = before.find(gpu.index());
  const auto unseen = now.find(gpu.index());
  if (earlier == before.end() || unseen == now.end()) return "";
  if (unseen->second < earlier->second + kTakenMemory) return "";
  return gpu_has + Amount(unseen->second - earlier->second) +
         " in use, of no process that can be seen on the node";
}

}  // namespace

UnseenMemory UnseenOf(const v1::NodeInfo& gpus) {
  UnseenMemory unseen;
  for (const v1::GpuFact& gpu : gpus.gpus()) {
    uint64_t seen = 0;
    for (const v1::GpuProcess& process : gpu.processes()) seen += process.memory_used();
    const bool known = std::ranges::count(gpu.processes(), 0, &v1::GpuProcess::memory_used) == 0;
    if (known) unseen[gpu.index()] = gpu.memory_used() - std::min(seen, gpu.memory_used());
  }
  return unseen;
}

std::vector<std::string> MemoryLeft(const v1::NodePlan& node, const v1::NodeInfo& gpus,
                                    const std::string& job, const UnseenMemory& before) {
  const UnseenMemory now = UnseenOf(gpus);
  std::vector<std::string> left;
  for (const v1::GpuFact& gpu : gpus.gpus()) {
    std::string text = IsPlanned(node, gpu) ? LeftOn(gpu, job, before, now) : "";
    if (!text.empty()) left.push_back(std::move(text));
  }
  return left;
}

std::vector<std::string> AwaitFreeMemory(const v1::NodePlan& node, const std::string& job,
                                         const UnseenMemory& before,
                                         const process::Environment& environment,
                                         const std::string& working_directory, milliseconds limit,
                                         const std::stop_token& stop, Supervisor& supervisor) {
  const base::Deadline deadline = base::Deadline::After(limit);
  for (;;) {
    const v1::NodeInfo gpus =
        GpuUsers(environment, working_directory, supervisor, GpuNames::kNumbers);
    std::vector<std::string> left = MemoryLeft(node, gpus, job, before);
    if (left.empty() || deadline.Expired() || stop.stop_requested()) return left;
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace autodist::agent
