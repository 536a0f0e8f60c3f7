#include "agent/prepare/affinity.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "agent/prepare/gpus.h"

namespace autodist::agent {
namespace {

constexpr char kReading[] = "reading which CPUs and devices this node has";

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};

std::vector<uint32_t> CpusIn(hwloc_const_bitmap_t bitmap) {
  std::vector<uint32_t> cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) {
    cpus.push_back(static_cast<uint32_t>(cpu));
  }
  return cpus;
}

}  // namespace

void Topology::Destroy::operator()(hwloc_topology* topology) const {
  hwloc_topology_destroy(topology);
}

Result<Topology::Handle> Topology::Load(const std::string* xml) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return ErrnoError(errno, kReading);
  Handle topology(made);
  if ((xml &&
       hwloc_topology_set_xmlbuffer(made, xml->c_str(), static_cast<int>(xml->size() + 1))) ||
      hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
      hwloc_topology_load(made) != 0) {
    return ErrnoError(errno, kReading);
  }
  return topology;
}

Result<Topology> Topology::OfThisNode() {
  AD_ASSIGN_OR_RETURN(Handle topology, Load(nullptr));
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), allowed.get(), HWLOC_CPUBIND_THREAD) != 0) {
    return ErrnoError(errno, "asking which CPUs the agent may run on");
  }
  return Topology(std::move(topology), CpusIn(allowed.get()));
}

Result<Topology> Topology::FromXml(const std::string& xml, std::vector<uint32_t> allowed_cpus) {
  AD_ASSIGN_OR_RETURN(Handle topology, Load(&xml));
  return Topology(std::move(topology), std::move(allowed_cpus));
}

bool Topology::HasSeveralNumaNodes() const {
  return hwloc_get_nbobjs_by_type(topology_.get(), HWLOC_OBJ_NUMANODE) > 1;
}

std::vector<uint32_t> Topology::CpusNear(const std::string& pci_bus_id) const {
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology_.get(), pci_bus_id.c_str());
  if (!device) return {};
  // A device with an unknown location counts as near the whole machine.
  const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology_.get(), device);
  std::vector<uint32_t> near;
  std::ranges::set_intersection(CpusIn(place->cpuset), allowed_cpus_, std::back_inserter(near));
  if (near == allowed_cpus_) near.clear();
  return near;
}

Status SetAffinity(const v1::NodePlan& node, const Topology& topology,
                   const process::Environment& environment, Supervisor& supervisor,
                   std::vector<RankCommand>& commands) {
  if (!topology.HasSeveralNumaNodes()) return OkStatus();
  AD_ASSIGN_OR_RETURN(const auto bus_ids, GpuBusIds(environment, "/", supervisor));
  for (const v1::RankPlan& rank : node.ranks()) {
    if (rank.device().kind() != v1::DEVICE_KIND_GPU || !rank.device().uuid().empty()) continue;
    const auto bus_id = bus_ids.find(rank.device().index());
    const auto command = std::ranges::find(commands, rank.rank(), &RankCommand::rank);
    if (bus_id == bus_ids.end() || command == commands.end()) continue;
    command->spawn.cpus = topology.CpusNear(bus_id->second);
  }
  return OkStatus();
}

}  // namespace autodist::agent
