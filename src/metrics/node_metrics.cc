// Metrics of each node and its networks.
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
  set.Gauge("autodist_node_cpu_ratio", "Use of all cores of the node.", node,
            Known(host.has_cpu(), host.cpu()));
  set.Gauge("autodist_node_cpu_cores", "Cores of the node.", node,
            Known(host.cores() != 0, host.cores()));
  set.Gauge("autodist_node_memory_used_bytes", "Memory of the node that is in use.", node,
            Known(host.has_memory_used(), host.memory_used()));
  set.Gauge("autodist_node_memory_size_bytes", "Memory of the node.", node,
            Known(host.has_memory_total(), host.memory_total()));
  AddPressure(host, node, set);
  set.Gauge("autodist_node_disk_read_bytes_per_second", "Bytes read from all disks of the node.",
            node, Known(host.has_disk_read(), host.disk_read()));
  set.Gauge("autodist_node_disk_written_bytes_per_second",
            "Bytes written to all disks of the node.", node,
            Known(host.has_disk_write(), host.disk_write()));
  set.Gauge("autodist_node_disk_free_bytes", "Free space of the disk of the working directory.",
            node, Known(host.has_disk_free(), host.disk_free()));
  set.Gauge("autodist_node_disk_size_bytes", "Size of the disk of the working directory.", node,
            Known(host.has_disk_total(), host.disk_total()));
}

void AddInterface(const v1::InterfaceSample& sample, const Labels& node, FamilySet& set) {
  const Labels labels = With(node, {{"interface", sample.name()}});
  set.Gauge("autodist_node_network_received_bytes_per_second", "Bytes that the interface received.",
            labels, Known(sample.has_received(), sample.received()));
  set.Gauge("autodist_node_network_sent_bytes_per_second", "Bytes that the interface sent.", labels,
            Known(sample.has_sent(), sample.sent()));
  set.Counter("autodist_node_network_errors_total", "Errors of the interface, in both directions.",
              labels, Known(sample.has_errors(), sample.errors()));
  set.Counter("autodist_node_network_dropped_total",
              "Packets that the interface dropped, in both directions.", labels,
              Known(sample.has_dropped(), sample.dropped()));
  set.Gauge("autodist_node_network_speed_bytes_per_second", "Speed of the interface.", labels,
            Known(sample.has_speed(), static_cast<double>(sample.speed()) / kBitsOfByte));
}

void AddInfiniband(const v1::InfinibandSample& sample, const Labels& node, FamilySet& set) {
  const Labels labels = With(node, {{"port", sample.name()}});
  set.Gauge("autodist_node_infiniband_active", "1 if the port is active.", labels,
            sample.active() ? 1 : 0);
  set.Gauge("autodist_node_infiniband_received_bytes_per_second", "Bytes that the port received.",
            labels, Known(sample.has_received(), sample.received()));
  set.Gauge("autodist_node_infiniband_sent_bytes_per_second", "Bytes that the port sent.", labels,
            Known(sample.has_sent(), sample.sent()));
  set.Counter("autodist_node_infiniband_errors_total", "Errors of the port, of all kinds.", labels,
              Known(sample.has_errors(), sample.errors()));
}

}  // namespace

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
      AddInterface(sample, labels, set);
    }
    for (const v1::InfinibandSample& sample : node.sample().infinibands()) {
      AddInfiniband(sample, labels, set);
    }
  }
}

}  // namespace autodist::metrics
