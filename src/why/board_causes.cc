#include "why/board_causes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/utf8.h"
#include "why/gpu_causes.h"
#include "why/samples.h"
#include "why/who.h"

namespace autodist::why {
namespace {

constexpr double kDiskNearlyFull = 0.01;  // of it is free
constexpr double kMemoryPressure = 0.2;   // of the time some process waits for memory
constexpr double kMemoryFull = 0.98;      // of it is used
constexpr double kSlowCpu = 0.5;          // of the others' median
constexpr double kAllCores = 0.9;         // of a node's that are in use
constexpr double kTakenCores = 0.25;      // of a node's that are others'
constexpr double kSlowInterface = 0.25;   // of the others' speed
constexpr uint64_t kManyErrors = 10;      // of an interface between two looks

v1::Trouble OfNode(const v1::Board& board, int node, v1::Trouble::Kind kind,
                   const std::string& what) {
  const v1::BoardNode& of = board.nodes(node);
  v1::Trouble trouble;
  trouble.set_kind(kind);
  trouble.add_nodes(static_cast<uint32_t>(node));
  *trouble.mutable_ranks() = of.ranks();
  trouble.set_what(base::Printable(of.address()) + what);
  return trouble;
}

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
    v1::Trouble trouble;
    trouble.set_kind(v1::Trouble::KIND_WARNING);
    AddRank(board, rank.rank(), trouble);
    trouble.set_what(RankName(board, rank.rank()) + " finds a disk full");
    AddEvidence(trouble, "last line", base::Printable(rank.last_line()), "its output");
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

std::string Cores(double cores) {
  const long tenths = std::lround(cores * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " cores";
}

// Another program has the node's cores.
std::optional<v1::Trouble> TakenCores(const v1::Board& board) {
  for (const int node : Running(board)) {
    const v1::HostSample& host = board.nodes(node).sample().host();
    const double cores = host.cores();
    const double own = CpuOfRanks(board, node);
    const double all = host.cpu() * cores;
    const bool known = std::ranges::any_of(board.nodes(node).ranks(), [&](uint32_t rank) {
      const v1::BoardRank* of = FindRank(board, rank);
      return of && of->sample().has_cpu();
    });
    if (!known || !host.has_cpu() || host.cpu() < kAllCores || all - own < kTakenCores * cores) {
      continue;
    }
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

// It could run, and is not let: a limit of its cgroup, say.
std::optional<v1::Trouble> SlowCpu(const v1::Board& now, const v1::Board* before) {
  std::vector<double> cpus;
  for (const v1::BoardRank& rank : now.ranks()) {
    if (rank.sample().has_cpu()) cpus.push_back(rank.sample().cpu());
  }
  if (!before) return std::nullopt;
  for (const v1::BoardRank& rank : now.ranks()) {
    if (!rank.sample().has_cpu() || !Runnable(now, rank.rank()) ||
        !Runnable(*before, rank.rank()) || rank.node() >= static_cast<uint32_t>(now.nodes_size())) {
      continue;
    }
    // What is always ready to run has a core, if it gets one.
    const double due = std::max(1.0, Median(cpus));
    const v1::HostSample& host = now.nodes(static_cast<int>(rank.node())).sample().host();
    if (rank.sample().cpu() >= kSlowCpu * due || (host.has_cpu() && host.cpu() >= kAllCores)) {
      continue;
    }
    v1::Trouble trouble;
    trouble.set_kind(v1::Trouble::KIND_SLOW);
    AddRank(now, rank.rank(), trouble);
    trouble.set_what(RankName(now, rank.rank()) + " is slow: it gets " +
                     Cores(rank.sample().cpu()) +
                     " though it is always ready to run: its CPU time is limited");
    AddEvidence(trouble, "CPU",
                Cores(rank.sample().cpu()) + "; the median of all ranks: " + Cores(Median(cpus)),
                "agent");
    AddEvidence(trouble, "state", "R twice", "/proc");
    if (host.has_cpu()) {
      AddEvidence(trouble, "its node's CPUs", base::Percent(host.cpu()) + " in use", "agent", true);
    }
    return trouble;
  }
  return std::nullopt;
}

template <typename Sample>
const Sample* SameName(const google::protobuf::RepeatedPtrField<Sample>& samples,
                       const std::string& name) {
  const auto found = std::ranges::find(samples, name, &Sample::name);
  return found == samples.end() ? nullptr : &*found;
}

// What it has lost since; 0: nothing, or it is not known.
uint64_t Since(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

std::optional<v1::Trouble> InterfaceErrors(const v1::Board& now, const v1::Board* before) {
  if (!before) return std::nullopt;
  for (const int node : Running(now)) {
    if (node >= before->nodes_size()) continue;
    const v1::NodeSample& sample = now.nodes(node).sample();
    const v1::NodeSample& earlier = before->nodes(node).sample();
    const auto told = [&](const std::string& name, uint64_t errors) {
      v1::Trouble trouble =
          OfNode(now, node, v1::Trouble::KIND_SLOW,
                 ": errors of its network interface " + base::Printable(name) + " rise");
      AddEvidence(trouble, base::Printable(name),
                  "+" + Number(static_cast<double>(errors)) + " errors between two looks", "/sys");
      return trouble;
    };
    for (const v1::InterfaceSample& one : sample.interfaces()) {
      const auto* same = SameName(earlier.interfaces(), one.name());
      if (!same || !same->has_errors()) continue;
      const uint64_t errors = Since(one.errors(), same->errors());
      if (errors >= kManyErrors) return told(one.name(), errors);
    }
    for (const v1::InfinibandSample& one : sample.infinibands()) {
      const auto* same = SameName(earlier.infinibands(), one.name());
      if (!same || !same->has_errors()) continue;
      const uint64_t errors = Since(one.errors(), same->errors());
      if (errors >= kManyErrors) return told(one.name(), errors);
    }
  }
  return std::nullopt;
}

// The same interface on all nodes, slower on one.
std::optional<v1::Trouble> SlowInterface(const v1::Board& board) {
  const std::vector<int> nodes = Running(board);
  for (const int node : nodes) {
    for (const v1::InterfaceSample& one : board.nodes(node).sample().interfaces()) {
      std::vector<double> others;
      for (const int other : nodes) {
        const auto* same = SameName(board.nodes(other).sample().interfaces(), one.name());
        if (other != node && same && same->has_speed() && same->speed() > 0) {
          others.push_back(static_cast<double>(same->speed()));
        }
      }
      const auto speed = static_cast<double>(one.speed());
      if (!one.has_speed() || speed <= 0 || others.empty() ||
          speed > kSlowInterface * Median(others)) {
        continue;
      }
      const auto text = [](double bits) { return Number(bits / 1e6) + " Mbit/s"; };
      v1::Trouble trouble = OfNode(board, node, v1::Trouble::KIND_SLOW,
                                   ": its network interface " + base::Printable(one.name()) +
                                       " runs at " + text(speed) + " only");
      AddEvidence(trouble, base::Printable(one.name()),
                  text(speed) + "; the median of the other " + std::to_string(others.size()) +
                      ": " + text(Median(others)),
                  "/sys");
      return trouble;
    }
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
    AddEvidence(trouble, "its end", failed ? base::Printable(rank.ended()) : "not told", "agent");
    if (!rank.last_line().empty()) {
      AddEvidence(trouble, "last line", base::Printable(rank.last_line()), "its output");
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

std::optional<v1::Trouble> ResourceCause(const v1::Board& now, const v1::Board* before,
                                         v1::Trouble& ruled_out) {
  if (auto cause = Disk(now)) return cause;
  if (auto cause = Memory(now, before)) return cause;
  if (auto cause = BrokenGpu(now)) return cause;
  if (auto cause = SlowGpu(now)) return cause;
  if (auto cause = TakenCores(now)) return cause;
  if (auto cause = SlowCpu(now, before)) return cause;
  if (auto cause = InterfaceErrors(now, before)) return cause;
  if (auto cause = SlowInterface(now)) return cause;
  AddRuledOut(now, ruled_out);
  return std::nullopt;
}

}  // namespace autodist::why
