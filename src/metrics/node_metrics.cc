// Each node, and its networks.
#include "metrics/snapshot_parts.h"

namespace autodist::metrics {
namespace {

constexpr double kBitsOfByte = 8;

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
  set.Gauge("autodist_node_cpu_ratio", "Use of all its cores together.", node,
            Known(host.has_cpu(), host.cpu()));
  set.Gauge("autodist_node_cpu_cores", "Cores that it has.", node,
            Known(host.cores() != 0, host.cores()));
  set.Gauge("autodist_node_memory_used_bytes", "Memory that is not available.", node,
            Known(host.has_memory_used(), host.memory_used()));
  set.Gauge("autodist_node_memory_size_bytes", "Memory that it has.", node,
            Known(host.has_memory_total(), host.memory_total()));
  AddPressure(host, node, set);
  set.Gauge("autodist_node_disk_read_bytes_per_second", "From all its disks.", node,
            Known(host.has_disk_read(), host.disk_read()));
  set.Gauge("autodist_node_disk_written_bytes_per_second", "To all its disks.", node,
            Known(host.has_disk_write(), host.disk_write()));
  set.Gauge("autodist_node_disk_free_bytes", "Where the working directory is.", node,
            Known(host.has_disk_free(), host.disk_free()));
  set.Gauge("autodist_node_disk_size_bytes", "Where the working directory is.", node,
            Known(host.has_disk_total(), host.disk_total()));
}

void AddInterface(const v1::InterfaceSample& sample, const Labels& node, FamilySet& set) {
  const Labels labels = With(node, {{"interface", sample.name()}});
  set.Gauge("autodist_node_network_received_bytes_per_second", "By the interface.", labels,
            Known(sample.has_received(), sample.received()));
  set.Gauge("autodist_node_network_sent_bytes_per_second", "By the interface.", labels,
            Known(sample.has_sent(), sample.sent()));
  set.Counter("autodist_node_network_errors_total", "Of the interface, in both directions.", labels,
              Known(sample.has_errors(), sample.errors()));
  set.Counter("autodist_node_network_dropped_total",
              "Packets that the interface has dropped, in both directions.", labels,
              Known(sample.has_dropped(), sample.dropped()));
  set.Gauge("autodist_node_network_speed_bytes_per_second", "What the interface can do.", labels,
            Known(sample.has_speed(), static_cast<double>(sample.speed()) / kBitsOfByte));
}

void AddInfiniband(const v1::InfinibandSample& sample, const Labels& node, FamilySet& set) {
  const Labels labels = With(node, {{"port", sample.name()}});
  set.Gauge("autodist_node_infiniband_active", "1: the port is active.", labels,
            sample.active() ? 1 : 0);
  set.Gauge("autodist_node_infiniband_received_bytes_per_second", "By the port.", labels,
            Known(sample.has_received(), sample.received()));
  set.Gauge("autodist_node_infiniband_sent_bytes_per_second", "By the port.", labels,
            Known(sample.has_sent(), sample.sent()));
  set.Counter("autodist_node_infiniband_errors_total", "Of the port, of all kinds.", labels,
              Known(sample.has_errors(), sample.errors()));
}

}  // namespace

void AddNodes(const SnapshotView& view, FamilySet& set) {
  for (const v1::NodeSnapshot& node : view.snapshot.nodes()) {
    const Labels labels = view.Node(node);
    set.Gauge("autodist_node_phase", "1, with the phase that the node is in.",
              With(labels, {{"phase", Word(v1::NodePhase_Name(node.phase()), "NODE_PHASE_")}}), 1);
    set.Gauge("autodist_node_last_contact_seconds", "Time since the node was heard.", labels,
              view.SecondsSince(node.last_contact_ms()));
    if (!node.has_sample() || !IsReachable(node)) continue;
    if (node.sample().has_host()) AddHost(node.sample().host(), labels, set);
    for (const v1::InterfaceSample& sample : node.sample().interfaces()) {
      AddInterface(sample, labels, set);
    }
    for (const v1::InfinibandSample& sample : node.sample().infinibands()) {
      AddInfiniband(sample, labels, set);
    }
  }
}

}  // namespace autodist::metrics
