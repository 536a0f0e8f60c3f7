// Which CPUs a rank runs on: those near its GPU.
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

// The CPUs, NUMA nodes and PCI devices of a machine. Does not change; thread-safe.
class Topology {
 public:
  // Of this node, and the CPUs that the calling thread may run on. Reads /sys, some milliseconds.
  static Result<Topology> OfThisNode();
  // As hwloc writes it.
  static Result<Topology> FromXml(const std::string& xml, std::vector<uint32_t> allowed_cpus);

  bool HasSeveralNumaNodes() const;

  // The CPUs of the device's NUMA node that are allowed, in order, numbered as the kernel does.
  // Empty: there are none, or these are all that are allowed, or nobody knows where the device is.
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
  std::vector<uint32_t> allowed_cpus_;  // in order
};

// Gives each of the node's ranks, which `commands` are for, the CPUs near its GPU, if it has one.
// Where there are several NUMA nodes, runs nvidia-smi in the ranks' `environment`, and blocks as
// GpuBusIds does.
Status SetAffinity(const v1::NodePlan& node, const Topology& topology,
                   const process::Environment& environment, Supervisor& supervisor,
                   std::vector<RankCommand>& commands);

}  // namespace autodist::agent
