// Checks for full disks and scarce memory.
#include "base/quantity.h"
#include "issues/checks.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

// The share of time in which a process waited for memory: in the rank's control group or, if that
// is unknown, on its node.
double MemoryStall(const v1::JobSnapshot& now, const v1::RankSnapshot& rank) {
  if (rank.sample().has_memory_stalled()) return rank.sample().memory_stalled();
  const v1::NodeSnapshot* node = snapshot::NodeOf(now, rank);
  return node ? node->sample().host().memory_pressure() : 0;
}

// Many healthy programs reach their limit, because file cache counts. They are slow only if they
// wait for memory or for their own evicted pages.
bool AtMemoryLimit(const v1::JobSnapshot& now, const v1::RankSnapshot& rank) {
  const v1::RankSample& sample = rank.sample();
  return sample.memory_limit() > 0 && sample.memory_hits() >= kMemoryLimitHits &&
         static_cast<double>(sample.memory_charged()) >=
             kMemoryLimitReached * static_cast<double>(sample.memory_limit()) &&
         (MemoryStall(now, rank) > kMemoryPressure || sample.memory_faults() > kMemoryFaults);
}

void AddMemoryUsed(const v1::HostSample& host, v1::Issue& issue) {
  if (host.memory_total() == 0) return;
  AddEvidence(
      issue, "memory",
      base::BinaryBytes(host.memory_used()) + " of " + base::BinaryBytes(host.memory_total()),
      "/proc/meminfo");
}

}  // namespace

void FullDisks(const Snapshots& of, AllFound& found) {
  for (const int node : snapshot::SampledNodes(of.now)) {
    const v1::HostSample& host = of.now.nodes(node).sample().host();
    const auto total = static_cast<double>(host.disk_total());
    if (!host.has_disk_free() || static_cast<double>(host.disk_free()) >= kDiskNearlyFull * total) {
      continue;
    }
    const std::string free = base::BinaryBytes(host.disk_free());
    Found& one = AddOfNode(found, "disk", of.now, node, v1::Issue::KIND_WARNING,
                           ": the disk of the working directory is full but for " + free);
    AddEvidence(one.issue, "free", free + " of " + base::BinaryBytes(host.disk_total()), "agent");
  }
}

void MemoryLimits(const Snapshots& of, AllFound& found) {
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (!AtMemoryLimit(of.now, rank)) continue;
    const v1::RankSample& sample = rank.sample();
    const std::string limit = base::BinaryBytes(sample.memory_limit());
    const double stall = MemoryStall(of.now, rank);
    Found& one = AddOfRank(found, "memory limit", of.now, rank.rank(), v1::Issue::KIND_SLOW,
                           " is held back at the memory limit of the control group, " + limit);
    one.issue.set_cost(stall > kMemoryPressure
                           ? base::Percent(stall) + " of the time a process waits for memory there"
                           : Number(sample.memory_faults()) +
                                 " times a second it waits for evicted pages");
    AddEvidence(one.issue, "memory", base::BinaryBytes(sample.memory_charged()) + " of " + limit,
                "cgroup");
    AddEvidence(one.issue, "limit reached", Number(sample.memory_hits()) + " times a second",
                "cgroup");
    if (sample.has_memory_faults()) {
      AddEvidence(one.issue, "pages read again", Number(sample.memory_faults()) + " a second",
                  "cgroup");
    }
    AddEvidence(one.issue, "memory pressure", base::Percent(stall) + " of the last 10 s",
                sample.has_memory_stalled() ? "cgroup" : "/proc/pressure");
  }
}

void MemoryWaits(const Snapshots& of, AllFound& found) {
  for (const int node : snapshot::SampledNodes(of.now)) {
    const v1::HostSample& host = of.now.nodes(node).sample().host();
    const v1::NodeSample* before = of.SampleBefore(node);
    const bool passing = before && before->host().has_memory_pressure() &&
                         before->host().memory_pressure() <= kMemoryPressure / 2;
    if (host.memory_pressure() <= kMemoryPressure || passing) continue;
    const std::string share = base::Percent(host.memory_pressure());
    Found& one = AddOfNode(found, "memory", of.now, node, v1::Issue::KIND_SLOW,
                           ": its processes wait for memory");
    one.issue.set_cost(share + " of the time a process there waits for memory");
    AddEvidence(one.issue, "memory pressure", share + " of the last 10 s", "/proc/pressure");
    AddMemoryUsed(host, one.issue);
  }
}

void FullMemory(const Snapshots& of, AllFound& found) {
  for (const int node : snapshot::SampledNodes(of.now)) {
    const v1::HostSample& host = of.now.nodes(node).sample().host();
    if (!host.has_memory_used() || host.memory_total() == 0 ||
        static_cast<double>(host.memory_used()) <
            kMemoryFull * static_cast<double>(host.memory_total())) {
      continue;
    }
    Found& one = AddOfNode(found, "full memory", of.now, node, v1::Issue::KIND_SLOW,
                           ": its memory is all in use");
    AddMemoryUsed(host, one.issue);
  }
}

}  // namespace autodist::issues
