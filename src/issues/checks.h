// The checks of a job's state, one function for each kind of issue. Pure functions: each adds what
// it finds, the worst first. `before` is the same job some seconds earlier, and may be null.
#pragma once

#include "autodist/v1/snapshot.pb.h"
#include "issues/issue.h"
#include "issues/thresholds.h"

namespace autodist::issues {

struct Snapshots {
  const v1::JobSnapshot& now;
  const v1::JobSnapshot* before;

  // Of the node, earlier; null: not known.
  const v1::NodeSample* SampleBefore(int node) const {
    return before && node < before->nodes_size() ? &before->nodes(node).sample() : nullptr;
  }
};

// end_checks.cc: what failed or is gone.
void FailedRanks(const Snapshots& of, AllFound& found);
void LostRanks(const Snapshots& of, AllFound& found);  // with their nodes
void NodesAway(const Snapshots& of, AllFound& found);

// storage_checks.cc: disks and memory.
void FullDisks(const Snapshots& of, AllFound& found);
void MemoryLimits(const Snapshots& of, AllFound& found);  // of control groups
void MemoryWaits(const Snapshots& of, AllFound& found);
void FullMemory(const Snapshots& of, AllFound& found);

// cpu_checks.cc
// Whether each that wants a core has one, however busy they are; false, too, where the kernel does
// not say.
bool CoresSuffice(const v1::HostSample& host);
void TakenCores(const Snapshots& of, AllFound& found);  // by other programs
void CpuLimits(const Snapshots& of, AllFound& found);   // of control groups
void HeldBackRanks(const Snapshots& of, AllFound& found);

// gpu_checks.cc
void BrokenGpus(const Snapshots& of, AllFound& found);  // of which the driver reports an error
void SlowGpus(const Snapshots& of, AllFound& found);    // throttled, or with a low clock

// network_checks.cc
void InterfaceErrors(const Snapshots& of, AllFound& found);
void SendQueues(const Snapshots& of, AllFound& found);      // that are long
void SlowInterfaces(const Snapshots& of, AllFound& found);  // compared with other nodes'

// step_checks.cc
void SlowRanks(const Snapshots& of, AllFound& found);  // whose steps take longer than the others'

// What there can be too little of.
enum class Resource : uint8_t { kDisk, kMemory, kGpu, kCpuLimit, kNetwork, kCpu };

// The checks of resources: what decides which of them is done when.
struct ResourceCheck {
  void (*find)(const Snapshots& of, AllFound& found);
  Resource resource;
  // While the job runs, too. The others are done if somebody asks why the job does not get on: they
  // need an earlier snapshot, or what they find is often harmless.
  bool always;
  int64_t min_duration_ms = 0;
};
inline constexpr ResourceCheck kResourceChecks[] = {
    // In the order in which they explain a job that does not get on.
    {FullDisks, Resource::kDisk, true, 0},
    {MemoryLimits, Resource::kMemory, true, kMinDurationMs},
    {MemoryWaits, Resource::kMemory, true, kMinDurationMs},
    {FullMemory, Resource::kMemory, false, 0},
    {BrokenGpus, Resource::kGpu, true, 0},
    {SlowGpus, Resource::kGpu, true, kMinDurationMs},
    {CpuLimits, Resource::kCpuLimit, true, kMinDurationMs},
    {InterfaceErrors, Resource::kNetwork, false, 0},
    {SendQueues, Resource::kNetwork, false, 0},
    {SlowInterfaces, Resource::kNetwork, false, 0},
    {TakenCores, Resource::kCpu, true, kMinDurationMs},
    {HeldBackRanks, Resource::kCpu, false, 0},
};

}  // namespace autodist::issues
