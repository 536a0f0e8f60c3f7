#include "metrics/snapshot_metrics.h"

#include <absl/strings/str_join.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "autodist/v1/snapshot.pb.h"
#include "metrics/family.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/lookup.h"

namespace autodist::metrics {
namespace {

// Data that all parts need.
struct SnapshotView {
  const v1::JobSnapshot& snapshot;
  int64_t now_ms;  // since 1970

  Labels Job() const { return {{"job_id", snapshot.job().job_id()}}; }
  Labels Node(const v1::NodeSnapshot& node) const {
    return With(Job(), {{"node", node.address()}});
  }
  Labels Rank(const v1::RankSnapshot& rank) const {
    return With(Job(), {{"rank", std::to_string(rank.rank())}, {"node", AddressOf(rank)}});
  }
  // Empty: unknown.
  std::string AddressOf(const v1::RankSnapshot& rank) const {
    const v1::NodeSnapshot* node = snapshot::NodeOf(snapshot, rank);
    return node ? node->address() : "";
  }
  // Seconds since then; nullopt: unknown, or never.
  std::optional<double> SecondsSince(int64_t time_ms) const {
    if (time_ms == 0) return std::nullopt;
    return static_cast<double>(std::max<int64_t>(0, now_ms - time_ms)) / 1000;
  }
};

// A number of a message that is shown as it is, apart from a factor.
struct FieldMetric {
  const char* field;
  const char* name;
  const char* help;
  double factor = 1;
  Type type = Type::kGauge;
};

double NumberOf(const google::protobuf::Message& message,
                const google::protobuf::FieldDescriptor& field) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(reflection.GetUInt64(message, &field));
    default:
      return reflection.GetDouble(message, &field);
  }
}

// Skips fields that are not set, and those without presence that are 0.
void AddFields(const google::protobuf::Message& message, std::span<const FieldMetric> metrics,
               const Labels& labels, FamilySet& set) {
  for (const FieldMetric& metric : metrics) {
    const auto& field = *message.GetDescriptor()->FindFieldByName(metric.field);
    if (!message.GetReflection()->HasField(message, &field)) continue;
    set.Add(metric.type, metric.name, metric.help, labels,
            NumberOf(message, field) * metric.factor);
  }
}

constexpr int kMaxTrainingMetrics = 64;  // of a program

void AddPhase(const SnapshotView& view, FamilySet& set) {
  for (int number = v1::JOB_PHASE_LAUNCHING; number <= v1::JOB_PHASE_ENDED; ++number) {
    const auto phase = static_cast<v1::JobPhase>(number);
    set.Gauge("autodist_job_phase", "1 for the phase that the job is in, 0 for the others.",
              With(view.Job(), {{"phase", Word(v1::JobPhase_Name(phase), "JOB_PHASE_")}}),
              view.snapshot.job().phase() == phase ? 1 : 0);
  }
}

void AddCounts(const SnapshotView& view, FamilySet& set) {
  for (int number = v1::RANK_STATE_STARTING; number <= v1::RANK_STATE_LOST; ++number) {
    const auto state = static_cast<v1::RankState>(number);
    set.Gauge("autodist_job_ranks", "Ranks of this attempt in a state.",
              With(view.Job(), {{"state", Word(v1::RankState_Name(state), "RANK_STATE_")}}),
              std::ranges::count_if(view.snapshot.ranks(), [&](const v1::RankSnapshot& rank) {
                return rank.state() == state && !rank.auxiliary();
              }));
  }
  for (int number = v1::NODE_PHASE_LAUNCHING; number <= v1::NODE_PHASE_LOST; ++number) {
    const auto phase = static_cast<v1::NodePhase>(number);
    set.Gauge("autodist_job_nodes", "Nodes in a phase.",
              With(view.Job(), {{"phase", Word(v1::NodePhase_Name(phase), "NODE_PHASE_")}}),
              std::ranges::count_if(view.snapshot.nodes(), [&](const v1::NodeSnapshot& node) {
                return node.phase() == phase;
              }));
  }
  for (int number = v1::Issue::KIND_FAILED; number <= v1::Issue::KIND_WARNING; ++number) {
    const auto kind = static_cast<v1::Issue::Kind>(number);
    set.Gauge("autodist_job_issues", "Issues of the job by kind; 0 if none is known.",
              With(view.Job(), {{"kind", Word(v1::Issue::Kind_Name(kind), "KIND_")}}),
              std::ranges::count_if(view.snapshot.issues(),
                                    [&](const v1::Issue& issue) { return issue.kind() == kind; }));
  }
}

void AddTimeParts(const SnapshotView& view, FamilySet& set) {
  if (!view.snapshot.has_goodput_parts()) return;
  const v1::GoodputParts& spent = view.snapshot.goodput_parts();
  const std::array<std::pair<const char*, int64_t>, 6> parts{{{"start_up", spent.start_up()},
                                                              {"training", spent.training()},
                                                              {"stalled", spent.stalled()},
                                                              {"stopping", spent.stopping()},
                                                              {"restarting", spent.restarting()},
                                                              {"lost_steps", spent.lost_steps()}}};
  for (const auto& [part, time] : parts) {
    set.Gauge("autodist_job_time_seconds", "The job's wall time by use, over all attempts.",
              With(view.Job(), {{"part", part}}), static_cast<double>(time) / 1000);
  }
  set.Gauge("autodist_job_goodput_ratio", "Share of the job's wall time that was training.",
            view.Job(), snapshot::Goodput(spent));
}

void AddJob(const SnapshotView& view, FamilySet& set) {
  const v1::JobStatus& job = view.snapshot.job();
  const Labels labels = view.Job();
  set.Gauge("autodist_job_info", "Facts about the job; always 1.",
            With(labels, {{"name", job.name()},
                          {"command", absl::StrJoin(job.command(), " ")},
                          {"host", job.host()},
                          {"log_folder", job.log_folder()}}),
            1);
  AddPhase(view, set);
  set.Gauge("autodist_job_start_time_seconds", "Start time of the job, since 1970.", labels,
            Known(job.started_ms() != 0, static_cast<double>(job.started_ms()) / 1000));
  const SnapshotView end{view.snapshot, job.ended_ms() != 0 ? job.ended_ms() : view.now_ms};
  set.Gauge("autodist_job_elapsed_seconds",
            "Wall time from the start of the job to now or its end.", labels,
            end.SecondsSince(job.started_ms()));
  set.Counter("autodist_job_restarts_total", "Restarts of the job.", labels, job.attempt());
  set.Gauge("autodist_job_restarts_allowed", "Maximum number of restarts of the job.", labels,
            job.max_restarts());
  set.Gauge("autodist_job_world_size", "Ranks of this attempt.", labels,
            Known(job.world_size() != 0, job.world_size()));
  set.Gauge("autodist_job_silent_seconds", "Time since any rank wrote output.", labels,
            end.SecondsSince(job.last_output_ms()));
  set.Gauge("autodist_job_exit_code", "Exit code of the ended job.", labels,
            Known(job.phase() == v1::JOB_PHASE_ENDED, job.exit_code()));
  AddCounts(view, set);
  AddTimeParts(view, set);
}

constexpr FieldMetric kProgressMetrics[] = {
    {"step", "autodist_training_step", "Last step that the program reported."},
    {"total", "autodist_training_steps_expected", "Total number of steps."},
    {"rate", "autodist_training_steps_per_second", "Steps per second over the last steps."},
    {"eta", "autodist_training_eta_seconds", "Estimated time for the remaining steps."},
};

void AddProgress(const SnapshotView& view, FamilySet& set) {
  if (!view.snapshot.has_progress()) return;
  const v1::Progress& progress = view.snapshot.progress();
  const Labels labels = view.Job();
  AddFields(progress, kProgressMetrics, labels, set);
  int metrics = 0;
  for (const v1::Metric& metric : progress.metrics()) {
    if (++metrics > kMaxTrainingMetrics) break;
    set.Gauge("autodist_training_metric",
              "Other values that the program reports, such as the loss.",
              With(labels, {{"name", metric.name()}}), metric.value());
  }
}

constexpr FieldMetric kRankProgressMetrics[] = {
    {"step", "autodist_rank_step", "Last step that the rank reported."},
    {"rate", "autodist_rank_steps_per_second", "Steps per second over the last steps of the rank."},
};
constexpr FieldMetric kRankMetrics[] = {
    {"cpu", "autodist_rank_cpu_cores", "Cores that the rank and its child processes use."},
    {"memory", "autodist_rank_resident_memory_bytes",
     "Memory that the rank and its child processes use."},
    {"processes", "autodist_rank_processes", "Processes of the rank, including children."},
    {"threads", "autodist_rank_threads", "Threads of all processes of the rank."},
    {"read", "autodist_rank_read_bytes_per_second",
     "Bytes that the rank and its child processes read from disks and file systems."},
    {"written", "autodist_rank_written_bytes_per_second",
     "Bytes that the rank and its child processes wrote to disks and file systems."},
};

// Uses the chief's time of the last output, else the node's.
std::optional<double> SilentSeconds(const SnapshotView& view, const v1::RankSnapshot& rank) {
  if (const auto silent = view.SecondsSince(rank.last_output_ms())) return silent;
  return Known(rank.has_sample() && rank.sample().has_silent_ms(),
               static_cast<double>(rank.sample().silent_ms()) / 1000);
}

void AddRanks(const SnapshotView& view, FamilySet& set) {
  for (const v1::RankSnapshot& rank : view.snapshot.ranks()) {
    const Labels labels = view.Rank(rank);
    set.Gauge("autodist_rank_state", "1 for the state of the rank.",
              With(labels, {{"state", Word(v1::RankState_Name(rank.state()), "RANK_STATE_")}}), 1);
    for (const uint32_t gpu : rank.gpus()) {
      set.Gauge("autodist_rank_gpu_info", "A GPU of the rank; always 1.",
                With(labels, {{"gpu", std::to_string(gpu)}}), 1);
    }
    if (rank.has_progress()) AddFields(rank.progress(), kRankProgressMetrics, labels, set);
    if (rank.state() != v1::RANK_STATE_STARTING && rank.state() != v1::RANK_STATE_RUNNING) continue;
    set.Gauge("autodist_rank_silent_seconds", "Time since the rank wrote output.", labels,
              SilentSeconds(view, rank));
    if (rank.has_sample()) AddFields(rank.sample(), kRankMetrics, labels, set);
  }
  for (const v1::Issue& issue : view.snapshot.issues()) {
    for (const uint32_t rank : issue.ranks()) {
      if (rank >= static_cast<uint32_t>(view.snapshot.ranks_size())) continue;
      set.Gauge("autodist_rank_issue", "1 for the issue of the rank.",
                With(view.Rank(view.snapshot.ranks(static_cast<int>(rank))),
                     {{"kind", Word(v1::Issue::Kind_Name(issue.kind()), "KIND_")}}),
                1);
    }
  }
}

// Whether the node's last state is its current one.
bool IsReachable(const v1::NodeSnapshot& node) {
  switch (node.phase()) {
    case v1::NODE_PHASE_LAUNCHING:
    case v1::NODE_PHASE_READY:
    case v1::NODE_PHASE_RUNNING:
    case v1::NODE_PHASE_STOPPING:
      return true;
    default:
      return false;
  }
}

constexpr double kBitsOfByte = 8;

constexpr FieldMetric kCpuAndMemoryMetrics[] = {
    {"cpu", "autodist_node_cpu_ratio", "Use of all cores of the node."},
    {"cores", "autodist_node_cpu_cores", "Cores of the node."},
    {"memory_used", "autodist_node_memory_used_bytes", "Memory of the node that is in use."},
    {"memory_total", "autodist_node_memory_size_bytes", "Memory of the node."},
};
constexpr FieldMetric kDiskMetrics[] = {
    {"disk_read", "autodist_node_disk_read_bytes_per_second",
     "Bytes read from all disks of the node."},
    {"disk_write", "autodist_node_disk_written_bytes_per_second",
     "Bytes written to all disks of the node."},
    {"disk_free", "autodist_node_disk_free_bytes",
     "Free space of the disk of the working directory."},
    {"disk_total", "autodist_node_disk_size_bytes", "Size of the disk of the working directory."},
};
constexpr FieldMetric kInterfaceMetrics[] = {
    {"received", "autodist_node_network_received_bytes_per_second",
     "Bytes that the interface received."},
    {"sent", "autodist_node_network_sent_bytes_per_second", "Bytes that the interface sent."},
    {"errors", "autodist_node_network_errors_total", "Errors of the interface, in both directions.",
     1, Type::kCounter},
    {"dropped", "autodist_node_network_dropped_total",
     "Packets that the interface dropped, in both directions.", 1, Type::kCounter},
    {"speed", "autodist_node_network_speed_bytes_per_second", "Speed of the interface.",
     1 / kBitsOfByte},
};
constexpr FieldMetric kInfinibandMetrics[] = {
    {"received", "autodist_node_infiniband_received_bytes_per_second",
     "Bytes that the port received."},
    {"sent", "autodist_node_infiniband_sent_bytes_per_second", "Bytes that the port sent."},
    {"errors", "autodist_node_infiniband_errors_total", "Errors of the port, of all kinds.", 1,
     Type::kCounter},
};

void AddPressure(const v1::HostSample& host, const Labels& node, FamilySet& set) {
  const auto add = [&](const char* resource, std::optional<double> value) {
    set.Gauge("autodist_node_pressure_ratio",
              "Share of the last 10 s in which some process waited for the resource.",
              With(node, {{"resource", resource}}), value);
  };
  add("cpu", Known(host.has_cpu_pressure(), host.cpu_pressure()));
  add("memory", Known(host.has_memory_pressure(), host.memory_pressure()));
  add("io", Known(host.has_io_pressure(), host.io_pressure()));
}

void AddHost(const v1::HostSample& host, const Labels& node, FamilySet& set) {
  AddFields(host, kCpuAndMemoryMetrics, node, set);
  AddPressure(host, node, set);
  AddFields(host, kDiskMetrics, node, set);
}

void AddNodes(const SnapshotView& view, FamilySet& set) {
  for (const v1::NodeSnapshot& node : view.snapshot.nodes()) {
    const Labels labels = view.Node(node);
    set.Gauge("autodist_node_phase", "1 for the phase of the node.",
              With(labels, {{"phase", Word(v1::NodePhase_Name(node.phase()), "NODE_PHASE_")}}), 1);
    set.Gauge("autodist_node_last_contact_seconds", "Time since the last contact with the node.",
              labels, view.SecondsSince(node.last_contact_ms()));
    if (!node.has_sample() || !IsReachable(node)) continue;
    if (node.sample().has_host()) AddHost(node.sample().host(), labels, set);
    for (const v1::InterfaceSample& sample : node.sample().interfaces()) {
      AddFields(sample, kInterfaceMetrics, With(labels, {{"interface", sample.name()}}), set);
    }
    for (const v1::InfinibandSample& sample : node.sample().infinibands()) {
      const Labels port = With(labels, {{"port", sample.name()}});
      set.Gauge("autodist_node_infiniband_active", "1 if the port is active.", port,
                sample.active() ? 1 : 0);
      AddFields(sample, kInfinibandMetrics, port, set);
    }
  }
}

constexpr double kMebibyte = 1 << 20;
constexpr double kPercent = 100;

// The metrics of GPUs that dcgm-exporter (up to 4.8) has too use its names, labels and units, so
// that its dashboards show this job; the rest are named like ours.
constexpr FieldMetric kUseMetrics[] = {
    {"use", "DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", kPercent},
    {"memory_used", "DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", 1 / kMebibyte},
};
constexpr FieldMetric kDeviceMetrics[] = {
    {"power", "DCGM_FI_DEV_POWER_USAGE", "Power draw (in W)."},
    {"power_limit", "DCGM_FI_DEV_POWER_MGMT_LIMIT", "Power limit (in W)."},
    {"temperature", "DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C)."},
    {"clock", "DCGM_FI_DEV_SM_CLOCK", "SM clock frequency (in MHz)."},
    {"clock_limit", "DCGM_FI_DEV_MAX_SM_CLOCK", "Maximum SM clock frequency (in MHz)."},
    {"xid", "DCGM_FI_DEV_XID_ERRORS", "The last XID error since the job began."},
    // Untyped, because a counter's name would have to end differently.
    {"ecc_errors", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "Double-bit volatile ECC errors.", 1,
     Type::kUntyped},
};

void AddDcgm(const v1::GpuSample& gpu, const Labels& labels, FamilySet& set) {
  AddFields(gpu, kUseMetrics, labels, set);
  const bool both = gpu.has_memory_used() && gpu.has_memory_total();
  const double free =
      static_cast<double>(gpu.memory_total()) - static_cast<double>(gpu.memory_used());
  set.Gauge("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", labels,
            Known(both && free >= 0, free / kMebibyte));
  AddFields(gpu, kDeviceMetrics, labels, set);
}

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
      const Labels own = With(view.Node(node), {{"gpu", index}, {"UUID", gpu.uuid()}});
      for (const std::string& reason : gpu.throttled()) {
        set.Gauge("autodist_gpu_throttled", "1 for the reason why the GPU's clock is throttled.",
                  With(own, {{"reason", reason}}), 1);
      }
    }
  }
}

}  // namespace

std::vector<Family> MetricsOf(const v1::JobSnapshot& snapshot, int64_t now_ms) {
  const SnapshotView view{snapshot, now_ms};
  FamilySet set;
  AddJob(view, set);
  AddProgress(view, set);
  AddRanks(view, set);
  AddNodes(view, set);
  AddGpus(view, set);
  return set.Take();
}

}  // namespace autodist::metrics
