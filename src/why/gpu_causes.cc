#include "why/gpu_causes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/median.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "why/samples.h"
#include "why/who.h"

namespace autodist::why {
namespace {

constexpr double kSlowClock = 0.85;  // of the others' median

// A GPU of the job and where it is.
struct Gpu {
  int node = 0;
  const v1::GpuSample* sample = nullptr;
};

std::vector<Gpu> Gpus(const v1::Board& board) {
  std::vector<Gpu> gpus;
  for (const int node : Running(board)) {
    for (const v1::GpuSample& sample : board.nodes(node).sample().gpus()) {
      gpus.push_back({node, &sample});
    }
  }
  return gpus;
}

// "rank 7 (node2, GPU 3)", or "GPU 3 of node2", and to whom it belongs.
std::string Owner(const v1::Board& board, const Gpu& gpu, v1::Trouble& trouble) {
  const v1::BoardNode& node = board.nodes(gpu.node);
  trouble.add_nodes(static_cast<uint32_t>(gpu.node));
  for (const uint32_t rank : node.ranks()) {
    const v1::BoardRank* of = FindRank(board, rank);
    if (!of || std::ranges::count(of->gpus(), gpu.sample->index()) == 0) continue;
    trouble.add_ranks(rank);
    return RankName(board, rank);
  }
  return base::Printable("GPU " + std::to_string(gpu.sample->index()) + " of " + node.address());
}

void AddGpuEvidence(const v1::GpuSample& gpu, const std::vector<double>& others,
                    v1::Trouble& trouble) {
  if (gpu.has_clock()) {
    std::string value = Number(gpu.clock()) + " MHz";
    if (gpu.has_clock_limit()) value += " of " + Number(gpu.clock_limit());
    if (!others.empty()) {
      const auto [least, most] = std::ranges::minmax(others);
      value += "; the other " + std::to_string(others.size()) + ": " + Number(least) +
               (Number(least) == Number(most) ? "" : "-" + Number(most));
    }
    AddEvidence(trouble, "clock", value, "nvidia-smi");
  }
  for (const std::string& why : gpu.throttled()) {
    AddEvidence(trouble, "throttled", base::Printable(why), "nvidia-smi");
  }
  if (gpu.has_power()) {
    AddEvidence(trouble, "power",
                Number(gpu.power()) + " W" +
                    (gpu.has_power_limit() ? " of " + Number(gpu.power_limit()) : ""),
                "nvidia-smi");
  }
  if (gpu.has_temperature()) {
    AddEvidence(trouble, "temperature", Number(gpu.temperature()) + " °C", "nvidia-smi");
  }
}

}  // namespace

std::optional<v1::Trouble> BrokenGpu(const v1::Board& board) {
  for (const Gpu& gpu : Gpus(board)) {
    if (!gpu.sample->has_xid() || gpu.sample->xid() == 0) continue;
    v1::Trouble trouble;
    trouble.set_kind(v1::Trouble::KIND_WARNING);
    trouble.set_what(Owner(board, gpu, trouble) +
                     ": the driver has told of an error of its GPU, XID " +
                     std::to_string(gpu.sample->xid()));
    AddEvidence(trouble, "XID", std::to_string(gpu.sample->xid()), "kernel log");
    return trouble;
  }
  return std::nullopt;
}

std::optional<v1::Trouble> SlowGpu(const v1::Board& board) {
  const std::vector<Gpu> gpus = Gpus(board);
  std::optional<v1::Trouble> slowest;
  double slowest_share = kSlowClock;
  for (const Gpu& gpu : gpus) {
    if (!gpu.sample->has_clock()) continue;
    std::vector<double> others;
    for (const Gpu& other : gpus) {
      if (other.sample != gpu.sample && other.sample->has_clock()) {
        others.push_back(other.sample->clock());
      }
    }
    const double reference = others.empty() ? gpu.sample->clock_limit() : base::Median(others);
    // One that has nothing to do needs no clock.
    const bool idle = gpu.sample->throttled().empty() && gpu.sample->use() < 0.5;
    if (reference <= 0 || idle || gpu.sample->clock() / reference >= slowest_share) continue;
    if (others.empty() && gpu.sample->throttled().empty()) continue;
    slowest_share = gpu.sample->clock() / reference;
    v1::Trouble& trouble = slowest.emplace();
    trouble.set_kind(v1::Trouble::KIND_SLOW);
    trouble.set_what(Owner(board, gpu, trouble) + " is slow: its GPU " +
                     (gpu.sample->throttled().empty()
                          ? "has a low clock"
                          : "is throttled: " + base::Printable(gpu.sample->throttled(0))));
    trouble.set_cost("its clock is " + base::Percent(1 - slowest_share) + " below " +
                     (others.empty() ? "its limit" : "the others' median"));
    AddGpuEvidence(*gpu.sample, others, trouble);
  }
  return slowest;
}

}  // namespace autodist::why
