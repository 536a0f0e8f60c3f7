#include "why/board_causes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/utf8.h"
#include "why/cpu_causes.h"
#include "why/gpu_causes.h"
#include "why/network_causes.h"
#include "why/samples.h"
#include "why/who.h"

namespace autodist::why {
namespace {

constexpr double kDiskNearlyFull = 0.01;  // of it is free
constexpr int64_t kLongAgoMs = 30'000;
constexpr double kMemoryPressure = 0.2;  // of the time some process waits for memory
constexpr double kMemoryFull = 0.98;     // of it is used
constexpr double kLimitReached = 0.9;    // of what a control group may use; the kernel counts late
constexpr double kManyFaults = 200;      // per second: pages that it had to read
constexpr double kFewHits = 0.5;         // per second, of that limit

const v1::HostSample* HostBefore(const v1::Board* before, int node) {
  return before && node < before->nodes_size() ? &before->nodes(node).sample().host() : nullptr;
}

std::optional<v1::Trouble> Disk(const v1::Board& board) {
  for (const int node : Running(board)) {
    const v1::HostSample& host = board.nodes(node).sample().host();
    if (!host.has_disk_free() || host.disk_total() == 0 ||
        static_cast<double>(host.disk_free()) >=
            kDiskNearlyFull * static_cast<double>(host.disk_total())) {
      continue;
    }
    v1::Trouble trouble = OfNode(board, node, v1::Trouble::KIND_WARNING,
                                 ": the disk of the working directory is full but for " +
                                     base::BinaryBytes(host.disk_free()));
    AddEvidence(trouble, "free",
                base::BinaryBytes(host.disk_free()) + " of " + base::BinaryBytes(host.disk_total()),
                "agent");
    return trouble;
  }
  for (const v1::BoardRank& rank : board.ranks()) {
    if (rank.last_line().find("No space left on device") == std::string::npos) continue;
    // Of what was long ago the rank has made the best, if others write.
    const int64_t last = std::max(board.job().last_output_ms(), rank.last_output_ms());
    if (rank.last_output_ms() > 0 && last - rank.last_output_ms() > kLongAgoMs) continue;
    v1::Trouble trouble;
    trouble.set_kind(v1::Trouble::KIND_WARNING);
    AddRank(board, rank.rank(), trouble);
    trouble.set_what(RankName(board, rank.rank()) + " finds a disk full");
    AddEvidence(trouble, "last line", base::Printable(rank.last_line()), "its output");
    return trouble;
  }
  return std::nullopt;
}

// The share of the time in which something waited for memory: in the rank's control group, or,
// where that does not tell, on its node.
double Stalled(const v1::Board& board, const v1::BoardRank& rank) {
  if (rank.sample().has_memory_stalled()) return rank.sample().memory_stalled();
  const v1::BoardNode* node = NodeOf(board, rank);
  return node ? node->sample().host().memory_pressure() : 0;
}

// Many programs are at their limit when all is well, by files that the kernel keeps for them; what
// makes them slow is waiting for memory, or for pages of their own that had to make room.
bool AtMemoryLimit(const v1::Board& board, const v1::BoardRank& rank) {
  const v1::RankSample& sample = rank.sample();
  return sample.memory_limit() > 0 && sample.memory_hits() >= kFewHits &&
         static_cast<double>(sample.memory_charged()) >=
             kLimitReached * static_cast<double>(sample.memory_limit()) &&
         (Stalled(board, rank) > kMemoryPressure || sample.memory_faults() > kManyFaults);
}

std::optional<v1::Trouble> MemoryLimit(const v1::Board& board) {
  for (const v1::BoardRank& rank : board.ranks()) {
    if (!AtMemoryLimit(board, rank)) continue;
    const v1::RankSample& sample = rank.sample();
    v1::Trouble trouble;
    trouble.set_kind(v1::Trouble::KIND_SLOW);
    AddRank(board, rank.rank(), trouble);
    const std::string limit = base::BinaryBytes(sample.memory_limit());
    trouble.set_what(RankName(board, rank.rank()) +
                     " is held back at the memory limit of its control group, " + limit);
    trouble.set_cost(Stalled(board, rank) > kMemoryPressure
                         ? base::Percent(Stalled(board, rank)) +
                               " of the time a process waits for memory there"
                         : Number(sample.memory_faults()) +
                               " times a second it waits for what had to make room");
    AddEvidence(trouble, "memory", base::BinaryBytes(sample.memory_charged()) + " of " + limit,
                "cgroup");
    AddEvidence(trouble, "limit reached", Number(sample.memory_hits()) + " times a second",
                "cgroup");
    if (sample.has_memory_faults()) {
      AddEvidence(trouble, "pages read anew", Number(sample.memory_faults()) + " a second",
                  "cgroup");
    }
    AddEvidence(trouble, "memory pressure",
                base::Percent(Stalled(board, rank)) + " of the last 10 s",
                sample.has_memory_stalled() ? "cgroup" : "/proc/pressure");
    return trouble;
  }
  return std::nullopt;
}

std::optional<v1::Trouble> Memory(const v1::Board& board, const v1::Board* before) {
  for (const int node : Running(board)) {
    const v1::HostSample& host = board.nodes(node).sample().host();
    const v1::HostSample* earlier = HostBefore(before, node);
    const bool pressed = host.has_memory_pressure() && host.memory_pressure() > kMemoryPressure &&
                         (!earlier || !earlier->has_memory_pressure() ||
                          earlier->memory_pressure() > kMemoryPressure / 2);
    const double used =
        host.has_memory_used() && host.memory_total() > 0
            ? static_cast<double>(host.memory_used()) / static_cast<double>(host.memory_total())
            : 0;
    if (!pressed && used < kMemoryFull) continue;
    v1::Trouble trouble =
        OfNode(board, node, v1::Trouble::KIND_SLOW,
               pressed ? ": its processes wait for memory" : ": its memory is all in use");
    if (pressed) {
      trouble.set_cost(base::Percent(host.memory_pressure()) +
                       " of the time some process of it waits for memory");
      AddEvidence(trouble, "memory pressure",
                  base::Percent(host.memory_pressure()) + " of the last 10 s", "/proc/pressure");
    }
    if (host.memory_total() > 0) {
      AddEvidence(
          trouble, "memory",
          base::BinaryBytes(host.memory_used()) + " of " + base::BinaryBytes(host.memory_total()),
          "/proc/meminfo");
    }
    return trouble;
  }
  return std::nullopt;
}

void AddRuledOut(const v1::Board& now, v1::Trouble& ruled_out) {
  const std::vector<int> nodes = Running(now);
  if (nodes.empty()) return;
  const std::string number = base::Count(nodes.size(), "node");
  const auto all_have = [&](auto has) {
    return std::ranges::all_of(nodes, [&](int node) { return has(now.nodes(node).sample()); });
  };
  const auto rule_out = [&](const std::string& what, const std::string& source) {
    AddEvidence(ruled_out, what, "not on any of " + number, source, true);
  };
  if (all_have([](const v1::NodeSample& one) { return one.host().has_disk_free(); })) {
    rule_out("a full disk", "agent");
  }
  if (all_have([](const v1::NodeSample& one) { return one.host().has_memory_pressure(); })) {
    rule_out("want of memory", "/proc/pressure");
  }
  if (all_have([](const v1::NodeSample& one) { return one.gpus_size() > 0; })) {
    rule_out("a throttled GPU", "nvidia-smi");
  }
}

}  // namespace

std::optional<v1::Trouble> FailureCause(const v1::Board& board) {
  for (const v1::BoardRank& rank : board.ranks()) {
    if (rank.state() != v1::RANK_STATE_FAILED && rank.state() != v1::RANK_STATE_LOST) continue;
    const bool failed = rank.state() == v1::RANK_STATE_FAILED;
    v1::Trouble trouble;
    trouble.set_kind(v1::Trouble::KIND_FAILED);
    AddRank(board, rank.rank(), trouble);
    trouble.set_what(RankName(board, rank.rank()) + " " +
                     (failed ? base::Printable(rank.ended()) : "is lost with its node"));
    AddEvidence(trouble, RankName(board, rank.rank()),
                failed ? base::Printable(rank.ended()) : "not told", "agent");
    if (!rank.last_line().empty()) {
      AddEvidence(trouble, "its last line", base::Printable(rank.last_line()), "its output");
    }
    return trouble;
  }
  for (int node = 0; node < board.nodes_size(); ++node) {
    const v1::BoardNode& of = board.nodes(node);
    if (of.phase() != v1::NODE_PHASE_RECONNECTING && of.phase() != v1::NODE_PHASE_LOST) continue;
    v1::Trouble trouble =
        OfNode(board, node, v1::Trouble::KIND_AWAY,
               of.phase() == v1::NODE_PHASE_LOST ? " is lost" : " does not answer");
    if (of.ranks_size() > 0) {
      trouble.set_what(trouble.what() + ", with " +
                       RanksName({of.ranks().begin(), of.ranks().end()}));
    }
    AddEvidence(trouble, "connection",
                of.detail().empty() ? "broken" : base::Printable(of.detail()), "chief");
    if (of.heard_ms() > 0 && board.time_ms() > of.heard_ms()) {
      AddEvidence(
          trouble, "last heard",
          base::Elapsed(std::chrono::milliseconds(board.time_ms() - of.heard_ms())) + " ago",
          "chief");
    }
    return trouble;
  }
  return std::nullopt;
}

std::vector<ResourceCause> ResourceCauses(const v1::Board& now, const v1::Board* before,
                                          v1::Trouble& ruled_out) {
  using Of = ResourceCause::Of;
  std::vector<ResourceCause> causes;
  const auto add = [&](Of of, std::optional<v1::Trouble> cause) {
    if (!cause) return false;
    causes.push_back({of, *std::move(cause)});
    return true;
  };
  add(Of::kDisk, Disk(now));
  if (!add(Of::kMemory, MemoryLimit(now))) add(Of::kMemory, Memory(now, before));
  if (!add(Of::kGpu, BrokenGpu(now))) add(Of::kGpu, SlowGpu(now));
  // A busy node is seldom the whole story.
  add(Of::kQuota, LimitedCpu(now, before));
  add(Of::kNetwork, NetworkCause(now, before));
  add(Of::kCpu, CpuCause(now, before));
  if (causes.empty()) AddRuledOut(now, ruled_out);
  return causes;
}

}  // namespace autodist::why
