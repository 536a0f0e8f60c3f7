#include "snapshot/history_point.h"

#include <optional>

#include "snapshot/lookup.h"

namespace autodist::snapshot {
namespace {

// The mean of the known values.
class Mean {
 public:
  void Add(double value) {
    sum_ += value;
    ++count_;
  }
  void Add(bool known, double value) {
    if (known) Add(value);
  }
  std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / count_);
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

// In both directions, over interfaces and InfiniBand ports.
struct Traffic {
  bool known = false;
  double received = 0;
  double sent = 0;
};

template <typename Counters>
void AddTo(Traffic& traffic, const Counters& counters) {
  for (const auto& one : counters) {
    if (!one.has_received() && !one.has_sent()) continue;
    traffic.known = true;
    traffic.received += one.received();
    traffic.sent += one.sent();
  }
}

struct Means {
  Mean gpu_use, gpu_memory, gpu_power, cpu, memory, received, sent;

  void Add(const v1::NodeSample& sample) {
    cpu.Add(sample.host().has_cpu(), sample.host().cpu());
    memory.Add(sample.host().has_memory_used(), static_cast<double>(sample.host().memory_used()));
    Traffic traffic;
    AddTo(traffic, sample.interfaces());
    AddTo(traffic, sample.infinibands());
    received.Add(traffic.known, traffic.received);
    sent.Add(traffic.known, traffic.sent);
    for (const v1::GpuSample& gpu : sample.gpus()) {
      gpu_use.Add(gpu.has_use(), gpu.use());
      gpu_memory.Add(gpu.has_memory_used(), static_cast<double>(gpu.memory_used()));
      gpu_power.Add(gpu.has_power(), gpu.power());
    }
  }
};

}  // namespace

v1::HistoryPoint PointOf(const v1::JobSnapshot& snapshot, int64_t width_ms) {
  v1::HistoryPoint point;
  point.set_time_ms(snapshot.time_ms());
  point.set_width_ms(width_ms);
  point.set_attempt(snapshot.job().attempt());
  if (snapshot.has_progress()) {
    if (snapshot.progress().has_step()) point.set_step(snapshot.progress().step());
    if (snapshot.progress().has_rate()) point.set_rate(snapshot.progress().rate());
    // While the job makes no steps, there are no new measurements.
    if (!StandstillIn(snapshot)) *point.mutable_metrics() = snapshot.progress().metrics();
  }
  Means means;
  for (const v1::NodeSnapshot& node : snapshot.nodes()) {
    if (node.has_sample() && node.phase() == v1::NODE_PHASE_RUNNING) means.Add(node.sample());
  }
  if (const auto value = means.gpu_use.value()) point.set_gpu_use(*value);
  if (const auto value = means.gpu_memory.value()) point.set_gpu_memory(*value);
  if (const auto value = means.gpu_power.value()) point.set_gpu_power(*value);
  if (const auto value = means.cpu.value()) point.set_cpu(*value);
  if (const auto value = means.memory.value()) point.set_memory(*value);
  if (const auto value = means.received.value()) point.set_received(*value);
  if (const auto value = means.sent.value()) point.set_sent(*value);
  return point;
}

}  // namespace autodist::snapshot
