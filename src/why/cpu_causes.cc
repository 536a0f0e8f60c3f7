#include "why/cpu_causes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/median.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "board/troubles.h"
#include "why/samples.h"
#include "why/who.h"

namespace autodist::why {
namespace {

constexpr double kSlowCpu = 0.5;      // of the others' median
constexpr double kAllCores = 0.9;     // of a node's that are in use
constexpr double kTakenCores = 0.25;  // of a node's that are others'
constexpr double kAwaited = 0.4;      // of the time that a rank is ready to run
constexpr double kCpuPressure = 0.5;  // of the time something waits for a core
constexpr double kThrottled = 0.5;    // of the time in which a limit is used up

double CpuOfRanks(const v1::Board& board, int node) {
  double cores = 0;
  for (const uint32_t rank : board.nodes(node).ranks()) {
    if (const v1::BoardRank* of = FindRank(board, rank)) cores += of->sample().cpu();
  }
  return cores;
}

bool Runnable(const v1::Board& board, uint32_t rank) {
  const v1::BoardRank* of = FindRank(board, rank);
  return of && of->sample().state() == "R";
}

// Another program has the node's cores. What ranks had before the looks counts, too: gdb holds
// them.
std::optional<v1::Trouble> TakenCores(const v1::Board& board, const v1::Board* before) {
  for (const int node : Running(board)) {
    const v1::HostSample& host = board.nodes(node).sample().host();
    const double cores = host.cores();
    const bool was = before && node < before->nodes_size();
    const double own = std::max(CpuOfRanks(board, node), was ? CpuOfRanks(*before, node) : 0);
    const double all = host.cpu() * cores;
    const bool known = std::ranges::any_of(board.nodes(node).ranks(), [&](uint32_t rank) {
      const v1::BoardRank* of = FindRank(board, rank);
      return of && of->sample().has_cpu();
    });
    const bool busy = host.has_cpu() && host.cpu() >= kAllCores;
    if (!known || !busy || board::CoresSuffice(host) || all - own < kTakenCores * cores) continue;
    v1::Trouble trouble =
        OfNode(board, node, v1::Trouble::KIND_SLOW,
               ": another program takes " + Cores(all - own) + " of its " + Number(cores));
    AddEvidence(trouble, "CPU",
                Cores(all) + " in use, " + Cores(own) + " of them by the job's ranks", "agent");
    if (host.has_cpu_pressure()) {
      AddEvidence(trouble, "CPU pressure", base::Percent(host.cpu_pressure()) + " of the last 10 s",
                  "/proc/pressure");
    }
    return trouble;
  }
  return std::nullopt;
}

// It could run, and is not let, for whatever reason. `due`: the cores of what is always ready.
bool IsHeldBack(const v1::Board& now, const v1::Board& before, const v1::BoardRank& rank,
                double due) {
  if (!rank.sample().has_cpu() || !Runnable(now, rank.rank()) || !Runnable(before, rank.rank()) ||
      !SampledSince(before, now, static_cast<int>(rank.node())) ||
      rank.sample().cpu_awaited() < kAwaited) {
    return false;
  }
  const v1::HostSample& host = now.nodes(static_cast<int>(rank.node())).sample().host();
  // Where the whole machine is short of cores, as under a container's view of it, too.
  const bool all_wait = host.cpu_pressure() > kCpuPressure;
  return rank.sample().cpu() < kSlowCpu * due && !(host.has_cpu() && host.cpu() >= kAllCores) &&
         !all_wait;
}

std::optional<v1::Trouble> SlowCpu(const v1::Board& now, const v1::Board* before) {
  if (!before) return std::nullopt;
  std::vector<double> cpus;
  for (const v1::BoardRank& rank : now.ranks()) {
    if (rank.sample().has_cpu()) cpus.push_back(rank.sample().cpu());
  }
  if (cpus.empty()) return std::nullopt;
  // What is always ready to run has a core, if it gets one.
  const double median = base::Median(cpus);
  const double due = std::max(1.0, median);
  std::vector<const v1::BoardRank*> held;
  for (const v1::BoardRank& rank : now.ranks()) {
    if (IsHeldBack(now, *before, rank, due)) held.push_back(&rank);
  }
  // Of many that are, none is the one.
  const bool many = held.size() > 1 && 2 * held.size() >= static_cast<size_t>(now.ranks_size());
  if (held.empty() || many) return std::nullopt;
  const v1::BoardRank& rank = *held.front();
  const v1::HostSample& host = now.nodes(static_cast<int>(rank.node())).sample().host();
  v1::Trouble trouble;
  trouble.set_kind(v1::Trouble::KIND_SLOW);
  AddRank(now, rank.rank(), trouble);
  trouble.set_what(RankName(now, rank.rank()) + " is slow: it gets " + Cores(rank.sample().cpu()) +
                   " though it is always ready to run: something holds it back");
  AddEvidence(trouble, "CPU",
              Cores(rank.sample().cpu()) + "; the median of all ranks: " + Cores(median), "agent");
  AddEvidence(trouble, "ready to run", base::Percent(rank.sample().cpu_awaited()) + " of the time",
              "/proc");
  if (host.has_cpu()) {
    AddEvidence(trouble, "its node's CPUs", base::Percent(host.cpu()) + " in use", "agent", true);
  }
  return trouble;
}

}  // namespace

std::optional<v1::Trouble> LimitedCpu(const v1::Board& now, const v1::Board* before) {
  const v1::BoardRank* worst = nullptr;
  for (const v1::BoardRank& rank : now.ranks()) {
    const v1::BoardRank* earlier = before ? FindRank(*before, rank.rank()) : nullptr;
    if (rank.sample().cpu_throttled() < kThrottled ||
        (earlier && earlier->sample().has_cpu_throttled() &&
         earlier->sample().cpu_throttled() < kThrottled / 2)) {
      continue;
    }
    if (!worst || rank.sample().cpu_throttled() > worst->sample().cpu_throttled()) worst = &rank;
  }
  if (!worst) return std::nullopt;
  const std::string limit = Cores(worst->sample().cpu_limit());
  v1::Trouble trouble;
  trouble.set_kind(v1::Trouble::KIND_SLOW);
  AddRank(now, worst->rank(), trouble);
  trouble.set_what(RankName(now, worst->rank()) + " is slow: its control group may use " + limit +
                   " at most, which it uses up");
  trouble.set_cost("it is held back " + base::Percent(worst->sample().cpu_throttled()) +
                   " of the time");
  AddEvidence(trouble, "CPU limit", limit, "cgroup");
  AddEvidence(trouble, "held back",
              base::Percent(worst->sample().cpu_throttled()) + " of the limit's periods", "cgroup");
  if (worst->sample().has_cpu()) {
    AddEvidence(trouble, "CPU", Cores(worst->sample().cpu()) + " in use by it", "agent");
  }
  return trouble;
}

std::optional<v1::Trouble> CpuCause(const v1::Board& now, const v1::Board* before) {
  if (auto cause = TakenCores(now, before)) return cause;
  return SlowCpu(now, before);
}

}  // namespace autodist::why
