#include "launch/sample_rules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "launch/field_rules.h"
#include "rpc/limits.h"
#include "rpc/message_rules.h"

namespace autodist::launch {
namespace {

template <typename... Number>
bool AreAmounts(Number... numbers) {  // false for NaN
  return ((numbers >= 0 && numbers <= rpc::kLargestAmount) && ...);
}

template <typename... Number>
bool AreCounts(Number... numbers) {
  return ((numbers <= rpc::kLargestCount) && ...);
}

bool IsText(const std::string& text) { return text.size() <= rpc::kMaxSampleTextLength; }

bool IsPlausible(const v1::HostSample& host) {
  return AreAmounts(host.cpu(), host.cpu_pressure(), host.memory_pressure(), host.io_pressure(),
                    host.disk_read(), host.disk_write()) &&
         AreCounts(host.memory_used(), host.memory_total(), host.disk_free(), host.disk_total());
}

bool IsPlausible(const v1::InterfaceSample& interface) {
  return IsText(interface.name()) && AreAmounts(interface.received(), interface.sent()) &&
         AreCounts(interface.errors(), interface.dropped(), interface.speed(), interface.queued());
}

bool IsPlausible(const v1::InfinibandSample& port) {
  return IsText(port.name()) && AreAmounts(port.received(), port.sent()) &&
         AreCounts(port.errors());
}

bool IsPlausible(const v1::GpuSample& gpu) {
  return IsText(gpu.uuid()) &&
         AreAmounts(gpu.use(), gpu.power(), gpu.power_limit(), gpu.temperature(), gpu.clock(),
                    gpu.clock_limit()) &&
         AreCounts(gpu.memory_used(), gpu.memory_total(), gpu.ecc_errors()) &&
         gpu.throttled_size() <= rpc::kMaxListLength &&
         gpu.processes_size() <= rpc::kMaxListLength && gpu.faults_size() <= rpc::kMaxListLength &&
         std::ranges::all_of(gpu.throttled(), IsText) && std::ranges::all_of(gpu.faults(), IsText);
}

bool IsPlausible(const v1::RankSample& rank) {
  return IsText(rank.state()) &&
         AreAmounts(rank.cpu(), rank.read(), rank.written(), rank.cpu_limit(), rank.cpu_throttled(),
                    rank.cpu_awaited(), rank.memory_hits(), rank.memory_faults(),
                    rank.memory_stalled()) &&
         AreCounts(rank.memory(), rank.memory_limit(), rank.memory_charged());
}

template <typename List>
bool ArePlausible(const List& list) {
  return list.size() <= rpc::kMaxListLength &&
         std::ranges::all_of(list, [](const auto& one) { return IsPlausible(one); });
}

// Fast check, because most messages are valid samples. If it fails, CheckFields determines the
// reason by reflection. A test ensures that no field is missing here.
bool IsPlausible(const v1::NodeSample& sample) {
  return IsPlausible(sample.host()) && ArePlausible(sample.interfaces()) &&
         ArePlausible(sample.infinibands()) && ArePlausible(sample.gpus()) &&
         ArePlausible(sample.ranks());
}

Status CheckShares(const v1::NodeSample& sample) {
  std::vector<double> shares = {sample.host().cpu(), sample.host().cpu_pressure(),
                                sample.host().memory_pressure(), sample.host().io_pressure()};
  for (const v1::GpuSample& gpu : sample.gpus()) shares.push_back(gpu.use());
  for (const v1::RankSample& rank : sample.ranks()) {
    shares.push_back(rank.cpu_throttled());
    shares.push_back(rank.cpu_awaited());
    shares.push_back(rank.memory_stalled());
  }
  for (const double share : shares) {
    if (share > 1) return rpc::BrokenRule("a share of " + std::to_string(share));
  }
  return OkStatus();
}

}  // namespace

Status CheckSample(const v1::NodeSample& sample) {
  if (sample.ByteSizeLong() > rpc::kLargestSample) {
    return rpc::BrokenRule("a sample of " + std::to_string(sample.ByteSizeLong()) + " bytes");
  }
  if (!IsPlausible(sample)) {
    AD_RETURN_IF_ERROR(CheckFields(sample, {.text = rpc::kMaxSampleTextLength, .numbers = true}));
  }
  AD_RETURN_IF_ERROR(CheckShares(sample));
  for (const v1::GpuSample& gpu : sample.gpus()) {
    if (gpu.throttled_size() > rpc::kMaxThrottled) {
      return rpc::BrokenRule(std::to_string(gpu.throttled_size()) + " reasons");
    }
  }
  for (const v1::RankSample& rank : sample.ranks()) {
    if (rank.silent_ms() < 0)
      return rpc::BrokenRule("a silence of " + std::to_string(rank.silent_ms()) + " ms");
  }
  return OkStatus();
}

}  // namespace autodist::launch
