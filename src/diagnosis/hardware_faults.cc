#include "diagnosis/hardware_faults.h"

#include <algorithm>

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

std::vector<v1::HardwareFault> FaultsThatConcern(const v1::NodePlan& node,
                                                 const v1::NodeInfo& facts) {
  std::vector<v1::HardwareFault> faults;
  for (const v1::HardwareFault& fault : facts.hardware_faults()) {
    if (Concerns(node, fault, facts)) faults.push_back(fault);
  }
  return faults;
}

}  // namespace autodist::diagnosis
