// Checks whether the hardware of the nodes has faults.
#include <algorithm>

#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

// A GPU that the plan does not use concerns others.
bool Concerns(const v1::NodePlan& node, const v1::HardwareFault& fault, const v1::NodeInfo& facts) {
  if (!fault.has_gpu()) return true;
  const auto gpu = std::ranges::find(facts.gpus(), fault.gpu(), &v1::GpuFact::index);
  return std::ranges::any_of(node.devices(), [&](const v1::Device& device) {
    if (device.kind() != v1::DEVICE_KIND_GPU) return false;
    if (device.uuid().empty()) return device.index() == fault.gpu();
    return gpu == facts.gpus().end() || device.uuid().starts_with("MIG-") ||
           gpu->uuid().starts_with(device.uuid());
  });
}

}  // namespace

void CheckHealth(const Evidence& evidence, IssueList& issues) {
  if (!evidence.probe.health()) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    issues.Checked(v1::CHECK_HEALTH, node);
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    for (const v1::HardwareFault& fault : facts.hardware_faults()) {
      if (!Concerns(PlanOf(evidence, node), fault, facts)) continue;
      issues.Add(v1::CHECK_HEALTH, fault.fatal() ? evidence.fatal_fault : v1::CHECK_RESULT_WARNING,
                 node, fault.what() + " (" + fault.source() + ")", fault.remedy());
    }
  }
}

}  // namespace autodist::diagnosis
