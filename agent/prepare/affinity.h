// Selects the CPUs of a rank: those near its GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/plan.pb.h"
#include "process/environment.h"

struct hwloc_topology;

namespace autodist::agent {

// The CPUs, NUMA nodes and PCI devices of a machine. Immutable; thread-safe.
class Topology {
 public:
  // The topology of this node, and the CPUs of the calling thread. Reads /sys for some
  // milliseconds.
  static Result<Topology> OfThisNode();
  // Parses hwloc's XML.
  static Result<Topology> FromXml(const std::string& xml, std::vector<uint32_t> allowed_cpus);

  bool HasSeveralNumaNodes() const;

  // Returns the allowed CPUs in the device's NUMA node, in order and in the kernel's numbering.
  // Empty: none are allowed, all allowed ones are in it, or the device's location is unknown.
  std::vector<uint32_t> CpusNear(const std::string& pci_bus_id) const;

 private:
  struct Destroy {
    void operator()(hwloc_topology* topology) const;
  };
  using Handle = std::unique_ptr<hwloc_topology, Destroy>;

  Topology(Handle topology, std::vector<uint32_t> allowed_cpus)
      : topology_(std::move(topology)), allowed_cpus_(std::move(allowed_cpus)) {}
  static Result<Handle> Load(const std::string* xml);

  Handle topology_;
  std::vector<uint32_t> allowed_cpus_;  // ascending
};

// Sets for each rank of the node, in `commands`, the CPUs near its GPU, if it has one. If there are
// several NUMA nodes, runs nvidia-smi in the ranks' `environment`, and blocks like GpuBusIds.
Status SetAffinity(const v1::NodePlan& node, const Topology& topology,
                   const process::Environment& environment, Supervisor& supervisor,
                   std::vector<RankCommand>& commands);

}  // namespace autodist::agent
