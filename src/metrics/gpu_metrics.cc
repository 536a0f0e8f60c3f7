// Metrics of each GPU. Those that dcgm-exporter (up to 4.8) has too use its names, labels and
// units, so that its dashboards show this job; the rest are named like ours.
#include "metrics/snapshot_parts.h"

namespace autodist::metrics {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kPercent = 100;

void AddMemory(const v1::GpuSample& gpu, const Labels& labels, FamilySet& set) {
  set.Gauge("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", labels,
            Known(gpu.has_memory_used(), static_cast<double>(gpu.memory_used()) / kMebibyte));
  const bool both = gpu.has_memory_used() && gpu.has_memory_total();
  const double free =
      static_cast<double>(gpu.memory_total()) - static_cast<double>(gpu.memory_used());
  set.Gauge("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", labels,
            Known(both && free >= 0, free / kMebibyte));
}

void AddDcgm(const v1::GpuSample& gpu, const Labels& labels, FamilySet& set) {
  set.Gauge("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", labels,
            Known(gpu.has_use(), gpu.use() * kPercent));
  AddMemory(gpu, labels, set);
  set.Gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", labels,
            Known(gpu.has_power(), gpu.power()));
  set.Gauge("DCGM_FI_DEV_POWER_MGMT_LIMIT", "Power limit (in W).", labels,
            Known(gpu.has_power_limit(), gpu.power_limit()));
  set.Gauge("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", labels,
            Known(gpu.has_temperature(), gpu.temperature()));
  set.Gauge("DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz).", labels,
            Known(gpu.has_clock(), gpu.clock()));
  set.Gauge("DCGM_FI_DEV_MAX_SM_CLOCK", "Maximum SM clock frequency (in MHz).", labels,
            Known(gpu.has_clock_limit(), gpu.clock_limit()));
  set.Gauge("DCGM_FI_DEV_XID_ERRORS", "The last XID error since the job began.", labels,
            Known(gpu.has_xid(), gpu.xid()));
  // Untyped, because a counter's name would have to end differently.
  set.Untyped("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Double-bit volatile ECC errors.", labels,
              Known(gpu.has_ecc_errors(), gpu.ecc_errors()));
}

void AddOwn(const v1::GpuSample& gpu, const Labels& labels, FamilySet& set) {
  for (const std::string& reason : gpu.throttled()) {
    set.Gauge("autodist_gpu_throttled", "1 for the reason why the GPU's clock is throttled.",
              With(labels, {{"reason", reason}}), 1);
  }
}

}  // namespace

void AddGpus(const SnapshotView& view, FamilySet& set) {
  for (const v1::NodeSnapshot& node : view.snapshot.nodes()) {
    if (!node.has_sample() || !IsReachable(node)) continue;
    for (const v1::GpuSample& gpu : node.sample().gpus()) {
      const std::string index = std::to_string(gpu.index());
      AddDcgm(gpu,
              {{"gpu", index},
               {"UUID", gpu.uuid()},
               {"device", "nvidia" + index},
               {"Hostname", node.address()},
               {"hpc_job", view.snapshot.job().job_id()}},
              set);
      AddOwn(gpu, With(view.Node(node), {{"gpu", index}, {"UUID", gpu.uuid()}}), set);
    }
  }
}

}  // namespace autodist::metrics
