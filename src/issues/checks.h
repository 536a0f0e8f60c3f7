// Checks of a job's state, one function for each kind of issue. Pure functions: each adds the
// issues that it finds, worst first. `before` is a snapshot some seconds earlier, and may be null.
#pragma once

#include "autodist/v1/snapshot.pb.h"
#include "issues/issue.h"
#include "issues/thresholds.h"

namespace autodist::issues {

struct Snapshots {
  const v1::JobSnapshot& now;
  const v1::JobSnapshot* before;

  // The node's earlier sample; null: unknown.
  const v1::NodeSample* SampleBefore(int node) const {
    return before && node < before->nodes_size() ? &before->nodes(node).sample() : nullptr;
  }
};

// rank_checks.cc: failed and lost ranks, unreachable nodes.
void FailedRanks(const Snapshots& of, AllFound& found);
void LostRanks(const Snapshots& of, AllFound& found);  // lost with their nodes
void DisconnectedNodes(const Snapshots& of, AllFound& found);
// Whose steps take longer than those of the others.
void SlowRanks(const Snapshots& of, AllFound& found);

// storage_checks.cc: disks and memory.
void FullDisks(const Snapshots& of, AllFound& found);
void MemoryLimits(const Snapshots& of, AllFound& found);  // of control groups
void MemoryWaits(const Snapshots& of, AllFound& found);
void FullMemory(const Snapshots& of, AllFound& found);

// cpu_checks.cc
// Whether every runnable thread has a core, however busy the cores are; false if the kernel does
// not report it.
bool CoresSuffice(const v1::HostSample& host);
void TakenCores(const Snapshots& of, AllFound& found);  // by other programs
void CpuLimits(const Snapshots& of, AllFound& found);   // of control groups
void HeldBackRanks(const Snapshots& of, AllFound& found);

// gpu_checks.cc
void BrokenGpus(const Snapshots& of, AllFound& found);  // GPUs with driver errors
void FaultyGpus(const Snapshots& of, AllFound& found);  // with faults that need a repair
void SlowGpus(const Snapshots& of, AllFound& found);    // throttled, or with a low clock

// network_checks.cc
void InterfaceErrors(const Snapshots& of, AllFound& found);
void SendQueues(const Snapshots& of, AllFound& found);      // long ones
void SlowInterfaces(const Snapshots& of, AllFound& found);  // slower than those of other nodes

// Resources that may be scarce. The last two do not explain slow or missing progress. kHeldBack:
// another program uses the cores that a rank needs. kRepair: it may have been so for days.
enum class Resource : uint8_t {
  kDisk,
  kMemory,
  kGpu,
  kCpuLimit,
  kNetwork,
  kCpu,
  kHeldBack,
  kRepair
};

// A check of a resource, and when it is made.
struct ResourceCheck {
  void (*find)(const Snapshots& of, AllFound& found);
  Resource resource;
  // The check is made while the job runs. The others are only made for `autodist why`: they need an
  // earlier snapshot, or what they report is often harmless.
  bool always;
  int64_t min_duration_ms = 0;
};
inline constexpr ResourceCheck kResourceChecks[] = {
    // In the order in which they explain slow or missing progress.
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
    {HeldBackRanks, Resource::kHeldBack, false, 0},
    {FaultyGpus, Resource::kRepair, true, 0},
};

}  // namespace autodist::issues
