// Checks for broken or slow GPUs.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/utf8.h"
#include "issues/checks.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

// A GPU of the job and its location.
struct Gpu {
  int node = 0;
  const v1::GpuSample* sample = nullptr;
};

std::vector<Gpu> GpusOf(const v1::JobSnapshot& snapshot) {
  std::vector<Gpu> gpus;
  for (const int node : snapshot::SampledNodes(snapshot)) {
    for (const v1::GpuSample& sample : snapshot.nodes(node).sample().gpus()) {
      gpus.push_back({node, &sample});
    }
  }
  return gpus;
}

// An issue of the GPU and the rank that uses it; `what` follows "rank 7 (node2, GPU 3)", or "GPU 3
// of node2".
Found OfGpu(const v1::JobSnapshot& snapshot, const Gpu& gpu, const std::string& key,
            v1::Issue::Kind kind, const std::string& what) {
  const v1::NodeSnapshot& node = snapshot.nodes(gpu.node);
  const uint32_t index = gpu.sample->index();
  Found one;
  one.key = key + std::to_string(gpu.node) + "." + std::to_string(index);
  for (const uint32_t number : node.ranks()) {
    const v1::RankSnapshot* rank = snapshot::FindRank(snapshot, number);
    if (!rank || std::ranges::count(rank->gpus(), index) == 0) continue;
    one.issue = OfRank(snapshot, number, kind, what);
    return one;
  }
  one.issue.set_kind(kind);
  one.issue.add_nodes(static_cast<uint32_t>(gpu.node));
  one.issue.set_what(base::Printable("GPU " + std::to_string(index) + " of " + node.address()) +
                     what);
  return one;
}

// The clocks of all GPUs but one.
class OtherClocks {
 public:
  // `sorted` are the known clocks of all GPUs.
  OtherClocks(const std::vector<double>& sorted, double own)
      : sorted_(sorted),
        own_(static_cast<size_t>(std::ranges::lower_bound(sorted, own) - sorted.begin())) {}

  size_t size() const { return sorted_.size() - 1; }
  double median() const { return At(size() / 2); }
  double least() const { return At(0); }
  double most() const { return At(size() - 1); }

 private:
  double At(size_t index) const { return sorted_[index < own_ ? index : index + 1]; }

  const std::vector<double>& sorted_;
  const size_t own_;
};

// The hardware protects itself; a power limit does not count, because every busy GPU reaches it.
bool IsByHardware(const v1::GpuSample& gpu) {
  return std::ranges::any_of(gpu.throttled(), [](const std::string& reason) {
    return reason.starts_with("HW ") || reason.find("thermal") != std::string::npos;
  });
}

struct LowClock {
  double share;  // of what it should be
  const char* of_what;
};

std::optional<LowClock> LowClockOf(const v1::GpuSample& gpu, const OtherClocks& others) {
  const bool throttled = !gpu.throttled().empty();
  // An idle GPU may have a low clock.
  if (!throttled && gpu.use() < kIdleGpu) return std::nullopt;
  const auto low = [&](double reference) {
    return reference > 0 && gpu.clock() < kThrottledClock * reference;
  };
  if (others.size() > 0 && low(others.median())) {
    return LowClock{gpu.clock() / others.median(), "the others' median"};
  }
  const bool by_limit = others.size() == 0 ? throttled : IsByHardware(gpu);
  if (!by_limit || !low(gpu.clock_limit())) return std::nullopt;
  return LowClock{gpu.clock() / gpu.clock_limit(), "its limit"};
}

void AddGpuEvidence(const v1::GpuSample& gpu, const OtherClocks& others, v1::Issue& issue) {
  std::string clock = Number(gpu.clock()) + " MHz";
  if (gpu.has_clock_limit()) clock += " of " + Number(gpu.clock_limit());
  if (others.size() > 0) {
    const std::string least = Number(others.least());
    const std::string most = Number(others.most());
    clock += "; the other " + (others.size() == 1 ? "one" : std::to_string(others.size())) + ": " +
             least + (least == most ? "" : "-" + most);
  }
  AddEvidence(issue, "clock", clock, "nvidia-smi");
  for (const std::string& reason : gpu.throttled()) {
    AddEvidence(issue, "throttled", base::Printable(reason), "nvidia-smi");
  }
  if (gpu.has_power()) {
    AddEvidence(issue, "power",
                Number(gpu.power()) + " W" +
                    (gpu.has_power_limit() ? " of " + Number(gpu.power_limit()) : ""),
                "nvidia-smi");
  }
  if (gpu.has_temperature()) {
    AddEvidence(issue, "temperature", Number(gpu.temperature()) + " °C", "nvidia-smi");
  }
}

}  // namespace

void BrokenGpus(const Snapshots& of, AllFound& found) {
  for (const Gpu& gpu : GpusOf(of.now)) {
    if (gpu.sample->xid() == 0) continue;
    const std::string xid = std::to_string(gpu.sample->xid());
    found.push_back(OfGpu(of.now, gpu, "XID", v1::Issue::KIND_WARNING,
                          ": the driver reported a GPU error, XID " + xid));
    AddEvidence(found.back().issue, "XID", xid, "kernel log");
  }
}

void FaultyGpus(const Snapshots& of, AllFound& found) {
  for (const Gpu& gpu : GpusOf(of.now)) {
    for (int i = 0; i < gpu.sample->faults_size(); ++i) {
      const std::string fault = base::Printable(gpu.sample->faults(i));
      found.push_back(OfGpu(of.now, gpu, "fault" + std::to_string(i), v1::Issue::KIND_WARNING,
                            ": nvidia-smi reports that the GPU " + fault));
      AddEvidence(found.back().issue, "GPU " + std::to_string(gpu.sample->index()), fault,
                  "nvidia-smi");
    }
  }
}

void SlowGpus(const Snapshots& of, AllFound& found) {
  const std::vector<Gpu> gpus = GpusOf(of.now);
  std::vector<double> clocks;
  for (const Gpu& gpu : gpus) {
    if (gpu.sample->has_clock()) clocks.push_back(gpu.sample->clock());
  }
  std::ranges::sort(clocks);
  std::vector<std::pair<double, Found>> slow;
  for (const Gpu& gpu : gpus) {
    if (!gpu.sample->has_clock()) continue;
    const OtherClocks others(clocks, gpu.sample->clock());
    const auto low = LowClockOf(*gpu.sample, others);
    if (!low) continue;
    const std::string why = gpu.sample->throttled().empty()
                                ? "has a low clock"
                                : "is throttled: " + base::Printable(gpu.sample->throttled(0));
    Found one = OfGpu(of.now, gpu, "GPU", v1::Issue::KIND_SLOW, " is slow: its GPU " + why);
    one.issue.set_cost("its clock is " + base::Percent(1 - low->share) + " below " + low->of_what);
    AddGpuEvidence(*gpu.sample, others, one.issue);
    slow.emplace_back(low->share, std::move(one));
  }
  std::ranges::stable_sort(slow, {}, &std::pair<double, Found>::first);
  for (auto& [share, one] : slow) found.push_back(std::move(one));
}

}  // namespace autodist::issues
