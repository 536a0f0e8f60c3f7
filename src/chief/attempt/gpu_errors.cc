#include "chief/attempt/gpu_errors.h"

#include <algorithm>

#include "diagnosis/hardware_faults.h"
#include "health/xid_catalogue.h"

namespace autodist::chief {
namespace {

// Returns the rank whose device the GPU is; nullptr: a launcher's, which starts ranks itself.
const v1::RankPlan* RankOn(const NodeGpuError& error, const v1::LaunchPlan& plan) {
  for (const v1::RankPlan& rank : plan.nodes(static_cast<int>(error.node_rank)).ranks()) {
    const v1::Device& device = rank.device();
    // The index of a device with a UUID is another number.
    if (device.kind() == v1::DEVICE_KIND_GPU && device.uuid().empty() &&
        device.index() == error.error.gpu()) {
      return &rank;
    }
  }
  return nullptr;
}

}  // namespace

bool Concerns(const v1::NodePlan& node, const v1::GpuError& error) {
  if (!error.has_gpu()) return false;
  v1::HardwareFault fault;
  fault.set_gpu(error.gpu());
  const health::XidMeaning* const meaning = health::MeaningOf(error.xid());
  if (meaning) fault.set_min_gpus(health::MinGpus(meaning->remedy));
  return diagnosis::Concerns(node, fault);
}

const NodeGpuError* FaultyGpuBehind(const Cause& cause, const std::vector<NodeGpuError>& errors) {
  const bool of_ranks = cause.kind == Cause::Kind::kRankFailed || cause.kind == Cause::Kind::kHung;
  const auto found = std::ranges::find_if(
      errors, [](const NodeGpuError& one) { return one.error.needs_repair(); });
  return found == errors.end() || !of_ranks ? nullptr : &*found;
}

const NodeGpuError* ErrorOfRank(const std::vector<NodeGpuError>& errors, const v1::LaunchPlan& plan,
                                uint32_t node_rank, uint32_t rank) {
  const auto found = std::ranges::find_if(errors, [&](const NodeGpuError& one) {
    if (one.node_rank != node_rank) return false;
    const v1::RankPlan* const on = RankOn(one, plan);
    return on != nullptr && on->rank() == rank;
  });
  return found == errors.end() ? nullptr : &*found;
}

std::string Describe(const NodeGpuError& error, const v1::LaunchPlan& plan) {
  const v1::NodePlan& node = plan.nodes(static_cast<int>(error.node_rank));
  const v1::RankPlan* const rank = RankOn(error, plan);
  std::string text = "GPU " + std::to_string(error.error.gpu());
  text += (rank ? " of " + rank->name() : "") + " on " + node.address();
  const health::XidMeaning* const meaning = health::MeaningOf(error.error.xid());
  text += std::string(" ") + (meaning ? meaning->what : "reported an error");
  text += " (XID " + std::to_string(error.error.xid());
  if (!error.error.unit().empty()) text += ", " + error.error.unit();
  return text + ")";
}

std::string RemedyOf(const NodeGpuError& error) {
  const health::XidMeaning* const meaning = health::MeaningOf(error.error.xid());
  return meaning ? health::TextOf(meaning->remedy, std::to_string(error.error.gpu())) : "";
}

}  // namespace autodist::chief
