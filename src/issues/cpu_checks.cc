// Checks for ranks that do not get enough CPU time.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/ranges.h"
#include "issues/checks.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

// The sum over the node's ranks; absent: unknown for all.
std::optional<double> CpuOfRanks(const v1::JobSnapshot& snapshot, int node) {
  std::optional<double> cores;
  for (const uint32_t number : snapshot.nodes(node).ranks()) {
    const v1::RankSnapshot* rank = snapshot::FindRank(snapshot, number);
    if (rank && rank->sample().has_cpu()) cores = cores.value_or(0) + rank->sample().cpu();
  }
  return cores;
}

bool IsReady(const v1::JobSnapshot& snapshot, uint32_t rank) {
  const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank);
  return of && of->sample().state() == "R";
}

// The rank is runnable but does not run, for any reason. `due`: the cores of a rank that is always
// runnable.
bool IsHeldBack(const Snapshots& of, const v1::RankSnapshot& rank, double due) {
  if (!rank.sample().has_cpu() || !IsReady(of.now, rank.rank()) ||
      !IsReady(*of.before, rank.rank()) ||
      !snapshot::SampledSince(*of.before, of.now, static_cast<int>(rank.node())) ||
      rank.sample().cpu_awaited() < kHeldBackWait) {
    return false;
  }
  const v1::HostSample& host = of.now.nodes(static_cast<int>(rank.node())).sample().host();
  // The whole machine is short of cores, even if a container shows only part of it.
  const bool all_wait = host.cpu_pressure() > kCpuPressure;
  return rank.sample().cpu() < kHeldBackCpu * due &&
         !(host.has_cpu() && host.cpu() >= kCoresInUse) && !all_wait;
}

}  // namespace

bool CoresSuffice(const v1::HostSample& host) {
  return host.has_cpu_pressure() && host.cpu_pressure() < kNoCpuPressure;
}

// Uses the ranks' earlier CPU time, too: a debugger may hold them now.
void TakenCores(const Snapshots& of, AllFound& found) {
  for (const int node : snapshot::SampledNodes(of.now)) {
    const v1::HostSample& host = of.now.nodes(node).sample().host();
    const double cores = host.cores();
    const double all = host.cpu() * cores;
    if (host.cpu() < kCoresInUse || CoresSuffice(host)) continue;
    const auto now = CpuOfRanks(of.now, node);
    const bool was = of.before && node < of.before->nodes_size();
    const double own =
        std::max(now.value_or(0), was ? CpuOfRanks(*of.before, node).value_or(0) : 0);
    const bool stand_still = !of.before && own < kRanksIdle;
    if (!now || stand_still || all - own < kCoresTaken * cores) continue;
    Found& one = AddOfNode(found, "cores", of.now, node, v1::Issue::KIND_SLOW,
                           ": other programs use " + Cores(all - own) + " of " + Number(cores));
    AddEvidence(one.issue, "CPU",
                Cores(all) + " in use, " + Cores(own) + " of them by the job's ranks", "agent");
    if (host.has_cpu_pressure()) {
      AddEvidence(one.issue, "CPU pressure",
                  base::Percent(host.cpu_pressure()) + " of the last 10 s", "/proc/pressure");
    }
  }
}

void CpuLimits(const Snapshots& of, AllFound& found) {
  std::vector<const v1::RankSnapshot*> limited;
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    const v1::RankSnapshot* before =
        of.before ? snapshot::FindRank(*of.before, rank.rank()) : nullptr;
    const bool passing = before && before->sample().has_cpu_throttled() &&
                         before->sample().cpu_throttled() < kCpuLimitUsedUp / 2;
    if (rank.sample().cpu_throttled() >= kCpuLimitUsedUp && !passing) limited.push_back(&rank);
  }
  std::ranges::sort(limited, std::greater(),
                    [](const v1::RankSnapshot* rank) { return rank->sample().cpu_throttled(); });
  for (const v1::RankSnapshot* rank : limited) {
    const v1::RankSample& sample = rank->sample();
    const std::string limit = Cores(sample.cpu_limit());
    const std::string share = base::Percent(sample.cpu_throttled());
    Found& one =
        AddOfRank(found, "CPU limit", of.now, rank->rank(), v1::Issue::KIND_SLOW,
                  " is slow: its control group may use " + limit + " at most, which it uses up");
    one.issue.set_cost("it is held back " + share + " of the time");
    AddEvidence(one.issue, "CPU limit", limit, "cgroup");
    AddEvidence(one.issue, "held back", share + " of the limit's periods", "cgroup");
    if (sample.has_cpu())
      AddEvidence(one.issue, "CPU", Cores(sample.cpu()) + " in use by it", "agent");
  }
}

void HeldBackRanks(const Snapshots& of, AllFound& found) {
  if (!of.before) return;
  std::vector<double> cpus;
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (rank.sample().has_cpu()) cpus.push_back(rank.sample().cpu());
  }
  if (cpus.empty()) return;
  // A rank that is always runnable should have a core.
  const double median = base::Median(cpus);
  std::vector<const v1::RankSnapshot*> held;
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (IsHeldBack(of, rank, std::max(1.0, median))) held.push_back(&rank);
  }
  // If many are held back, none of them is the cause.
  if (held.size() > 1 && 2 * held.size() >= static_cast<size_t>(of.now.ranks_size())) return;
  for (const v1::RankSnapshot* rank : held) {
    const v1::RankSample& sample = rank->sample();
    const v1::HostSample& host = of.now.nodes(static_cast<int>(rank->node())).sample().host();
    Found& one = AddOfRank(found, "held back", of.now, rank->rank(), v1::Issue::KIND_SLOW,
                           " gets " + Cores(sample.cpu()) + " though it is always ready to run");
    AddEvidence(one.issue, "CPU",
                Cores(sample.cpu()) + "; the median of all ranks: " + Cores(median), "agent");
    AddEvidence(one.issue, "ready to run", base::Percent(sample.cpu_awaited()) + " of the time",
                "/proc");
    if (host.has_cpu()) {
      AddEvidence(one.issue, "its node's CPUs", base::Percent(host.cpu()) + " in use", "agent",
                  true);
    }
  }
}

}  // namespace autodist::issues
