#include "diagnosis/hardware_faults.h"

#include <algorithm>
#include <iterator>

#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

bool Uses(const v1::Device& device, const v1::HardwareFault& fault, const v1::NodeInfo& facts) {
  if (device.kind() != v1::DEVICE_KIND_GPU) return false;
  if (device.uuid().empty()) return device.index() == fault.gpu();
  const auto is_device = [&](const std::string& uuid) { return uuid.starts_with(device.uuid()); };
  const auto gpu = std::ranges::find(facts.gpus(), fault.gpu(), &v1::GpuFact::index);
  return is_device(fault.gpu_uuid()) ||
         (gpu != facts.gpus().end() &&
          (is_device(gpu->uuid()) || std::ranges::any_of(gpu->mig_uuids(), is_device)));
}

// Returns whether CheckGpus reports it as the reason why the node could not count its GPUs: that no
// GPU can be used, which nvidia-smi says, or the lack of a driver.
bool IsWhyUncounted(const v1::HardwareFault& fault, const Evidence& evidence, uint32_t node) {
  return evidence.uncounted.contains(NameOf(evidence, node)) && fault.min_gpus() == 1 &&
         !fault.has_gpu() && (fault.source() == "nvidia-smi" || fault.source() == "/sys");
}

}  // namespace

bool Concerns(const v1::NodePlan& node, const v1::HardwareFault& fault, const v1::NodeInfo& facts) {
  const auto gpus = std::ranges::count(node.devices(), v1::DEVICE_KIND_GPU, &v1::Device::kind);
  if (static_cast<uint32_t>(gpus) < fault.min_gpus()) return false;
  return !fault.has_gpu() || std::ranges::any_of(node.devices(), [&](const v1::Device& device) {
    return Uses(device, fault, facts);
  });
}

std::vector<v1::HardwareFault> FaultsThatConcern(const v1::NodePlan& node,
                                                 const v1::NodeInfo& facts) {
  std::vector<v1::HardwareFault> faults;
  std::ranges::copy_if(
      facts.hardware_faults(), std::back_inserter(faults),
      [&](const v1::HardwareFault& fault) { return Concerns(node, fault, facts); });
  return faults;
}

v1::CheckResult ResultOf(const v1::HardwareFault& fault, v1::Health health) {
  if (health == v1::HEALTH_OFF) return v1::CHECK_RESULT_UNSPECIFIED;
  return fault.fatal() && health == v1::HEALTH_STRICT ? v1::CHECK_RESULT_BAD
                                                      : v1::CHECK_RESULT_WARNING;
}

void CheckHealth(const Evidence& evidence, IssueList& issues) {
  if (!evidence.probe.health()) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    std::vector<v1::HardwareFault> faults =
        FaultsThatConcern(PlanOf(evidence, node), FactsOf(evidence, node));
    const size_t reported = std::erase_if(faults, [&](const v1::HardwareFault& fault) {
      return IsWhyUncounted(fault, evidence, node);
    });
    if (reported == 0) issues.Checked(v1::CHECK_HEALTH, node);
    for (const v1::HardwareFault& fault : faults) {
      issues.Add(v1::CHECK_HEALTH, ResultOf(fault, evidence.health), node,
                 fault.what() + " (" + fault.source() + ")", fault.remedy());
    }
  }
}

}  // namespace autodist::diagnosis
