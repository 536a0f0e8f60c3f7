#include "board/troubles.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "base/wall_clock.h"

namespace autodist::board {
namespace {

constexpr int64_t kLastsForMs = 10'000;   // a moment of it is nothing
constexpr int64_t kSlowForMs = 30'000;    // the same of steps, which may well differ for a while
constexpr double kSlow = 1.2;             // times the median of a step's time
constexpr size_t kFewestToCompare = 3;    // ranks
constexpr double kTakenByOthers = 0.25;   // of a node's cores
constexpr double kIdle = 0.05;            // cores in use by all ranks of a node
constexpr double kNoCpuPressure = 0.05;   // of the time something waits for a core
constexpr double kDiskNearlyFull = 0.01;  // of it is free
constexpr double kMemoryPressure = 0.2;   // of the time some process waits for memory

// One that is so now, before it is known since when.
struct Found {
  std::string key;  // the same as long as it is the same trouble
  v1::Trouble trouble;
  int64_t only_after_ms = 0;  // it is told of when it has lasted so long
  int64_t since_ms = 0;       // where that is known otherwise
};

std::string Number(double value) { return std::to_string(std::llround(value)); }

// "1.4".
std::string Decimal(double value) {
  const long tenths = std::lround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

void AddEvidence(v1::Trouble& trouble, const std::string& what, const std::string& value,
                 const std::string& source) {
  v1::Evidence& evidence = *trouble.add_evidence();
  evidence.set_what(what);
  evidence.set_value(value);
  evidence.set_source(source);
}

// By its number; null: the board has no such rank. Called for each rank of each node.
const v1::BoardRank* RankOf(const v1::Board& board, uint32_t number) {
  const auto found = std::ranges::lower_bound(board.ranks(), number, {}, &v1::BoardRank::rank);
  return found != board.ranks().end() && found->rank() == number ? &*found : nullptr;
}

Found OfNode(const char* key, v1::Trouble::Kind kind, const v1::Board& board, int node,
             const std::string& what) {
  const v1::BoardNode& of = board.nodes(node);
  Found found{key + std::to_string(node), {}};
  found.trouble.set_kind(kind);
  found.trouble.add_nodes(static_cast<uint32_t>(node));
  *found.trouble.mutable_ranks() = of.ranks();
  found.trouble.set_what(of.address() + what);
  return found;
}

void LookAtPhase(const v1::Board& board, int node, std::vector<Found>& found) {
  const v1::BoardNode& of = board.nodes(node);
  if (of.phase() != v1::NODE_PHASE_RECONNECTING && of.phase() != v1::NODE_PHASE_LOST) return;
  const bool lost = of.phase() == v1::NODE_PHASE_LOST;
  found.push_back(OfNode("away", v1::Trouble::KIND_AWAY, board, node,
                         lost ? " is lost" : " does not answer; its ranks go on meanwhile"));
  if (!of.detail().empty()) AddEvidence(found.back().trouble, "cause", of.detail(), "chief");
}

void LookAtHost(const v1::Board& board, int node, std::vector<Found>& found) {
  const v1::HostSample& host = board.nodes(node).sample().host();
  if (host.has_disk_free() && host.disk_total() > 0 &&
      static_cast<double>(host.disk_free()) <
          kDiskNearlyFull * static_cast<double>(host.disk_total())) {
    found.push_back(OfNode("disk", v1::Trouble::KIND_WARNING, board, node,
                           ": the disk of the working directory is full but for " +
                               base::BinaryBytes(host.disk_free())));
    AddEvidence(found.back().trouble, "free",
                base::BinaryBytes(host.disk_free()) + " of " + base::BinaryBytes(host.disk_total()),
                "agent");
  }
  if (host.has_memory_pressure() && host.memory_pressure() > kMemoryPressure) {
    found.push_back(
        OfNode("memory", v1::Trouble::KIND_SLOW, board, node, ": its processes wait for memory"));
    AddEvidence(found.back().trouble, "pressure",
                Number(100 * host.memory_pressure()) + " % of the last 10 s", "agent");
    found.back().only_after_ms = kLastsForMs;
  }
}

// What uses cores that the ranks could have, and would: they do not stand still.
void LookAtCores(const v1::Board& board, int node, std::vector<Found>& found) {
  const v1::HostSample& host = board.nodes(node).sample().host();
  const bool none_left = host.cpu() > 1 - kTakenByOthers / 2;
  if (!none_left || CoresSuffice(host) || host.cores() == 0) return;
  double ours = 0;
  for (const uint32_t number : board.nodes(node).ranks()) {
    const v1::BoardRank* rank = RankOf(board, number);
    if (!rank || !rank->sample().has_cpu()) return;
    ours += rank->sample().cpu();
  }
  if (ours < kIdle) return;
  const double used = host.cpu() * host.cores();
  if (used - ours < kTakenByOthers * host.cores()) return;
  found.push_back(OfNode("cores", v1::Trouble::KIND_SLOW, board, node,
                         ": other programs take " + Decimal(used - ours) + " of its " +
                             base::Count(host.cores(), "core") + ", and none is left"));
  AddEvidence(found.back().trouble, "CPU",
              Decimal(used) + " cores in use, " + Decimal(ours) + " of them by the job's ranks",
              "agent");
  found.back().only_after_ms = kLastsForMs;
}

std::optional<uint32_t> RankOn(const v1::Board& board, uint32_t node, uint32_t gpu) {
  for (const uint32_t rank : board.nodes(static_cast<int>(node)).ranks()) {
    const v1::BoardRank* of = RankOf(board, rank);
    if (of && std::ranges::count(of->gpus(), gpu) > 0) return rank;
  }
  return std::nullopt;
}

void LookAtGpus(const v1::Board& board, int node, std::vector<Found>& found) {
  for (const v1::GpuSample& gpu : board.nodes(node).sample().gpus()) {
    if (gpu.throttled().empty()) continue;
    const auto rank = RankOn(board, static_cast<uint32_t>(node), gpu.index());
    const std::string its = "GPU " + std::to_string(gpu.index()) + " of " +
                            board.nodes(node).address() +
                            (rank ? " (rank " + std::to_string(*rank) + ")" : "");
    Found& one = found.emplace_back(OfNode("throttled", v1::Trouble::KIND_SLOW, board, node, ""));
    one.key += "." + std::to_string(gpu.index());
    one.trouble.clear_ranks();
    if (rank) one.trouble.add_ranks(*rank);
    one.trouble.set_what(its + " is throttled: " + gpu.throttled(0));
    one.only_after_ms = kLastsForMs;
    for (const std::string& why : gpu.throttled()) {
      AddEvidence(one.trouble, "throttled", why, "nvidia-smi");
    }
    if (gpu.has_clock() && gpu.has_clock_limit()) {
      AddEvidence(one.trouble, "clock",
                  Number(gpu.clock()) + " MHz of " + Number(gpu.clock_limit()), "nvidia-smi");
    }
    if (gpu.has_temperature()) {
      AddEvidence(one.trouble, "temperature", Number(gpu.temperature()) + " °C", "nvidia-smi");
    }
  }
}

void LookAtRanks(const v1::Board& board, std::vector<Found>& found) {
  for (const v1::BoardRank& rank : board.ranks()) {
    if (rank.state() != v1::RANK_STATE_FAILED) continue;
    Found one{"failed" + std::to_string(rank.rank()), {}};
    one.trouble.set_kind(v1::Trouble::KIND_FAILED);
    one.trouble.add_ranks(rank.rank());
    one.trouble.add_nodes(rank.node());
    one.trouble.set_what(rank.name() + " on " +
                         board.nodes(static_cast<int>(rank.node())).address() + " " + rank.ended());
    if (!rank.last_line().empty()) {
      AddEvidence(one.trouble, "last line", rank.last_line(), "its output");
    }
    found.push_back(std::move(one));
  }
}

// Of several ranks that failed, the report knows which is to blame, and that it may be none of
// them.
void LeadWithReport(const v1::Board& board, std::vector<v1::Trouble>& troubles) {
  const std::string& report = board.job().report();
  if (board.job().exit_code() == 0 || report.empty()) return;
  const auto failed = [](const v1::Trouble& trouble) {
    return trouble.kind() == v1::Trouble::KIND_FAILED;
  };
  auto first = std::ranges::find_if(troubles, [&](const v1::Trouble& trouble) {
    const v1::BoardRank* rank = failed(trouble) ? RankOf(board, trouble.ranks(0)) : nullptr;
    return rank && report.starts_with(rank->name() + " on ");
  });
  if (first == troubles.end()) first = std::ranges::find_if(troubles, failed);
  if (first == troubles.end()) return;
  first->set_what(base::Printable(base::FirstLine(report)));
  std::rotate(troubles.begin(), first, first + 1);
}

// Sorted.
std::vector<double> RatesOf(const v1::Board& board) {
  std::vector<double> rates;
  for (const v1::BoardRank& rank : board.ranks()) {
    if (rank.progress().rate() > 0) rates.push_back(rank.progress().rate());
  }
  std::ranges::sort(rates);
  return rates;
}

// Ranks that each tell their steps, and do not wait for each other in each of them.
void LookAtSteps(const v1::Board& board, std::vector<Found>& found) {
  const std::vector<double> rates = RatesOf(board);
  if (rates.size() < kFewestToCompare) return;
  const double median = rates[rates.size() / 2];
  for (const v1::BoardRank& rank : board.ranks()) {
    const double rate = rank.progress().rate();
    if (rate <= 0 || rate * kSlow > median || rank.state() != v1::RANK_STATE_RUNNING) continue;
    Found one{"slow" + std::to_string(rank.rank()), {}, kSlowForMs};
    one.trouble.set_kind(v1::Trouble::KIND_SLOW);
    one.trouble.add_ranks(rank.rank());
    one.trouble.add_nodes(rank.node());
    one.trouble.set_what(rank.name() + " on " +
                         board.nodes(static_cast<int>(rank.node())).address() + " is " +
                         Decimal(median / rate) + " x slower than the median");
    AddEvidence(one.trouble, kStepsPerSecond,
                Decimal(rate) + "; the median of " + base::Count(rates.size(), "rank") + ": " +
                    Decimal(median),
                "its output");
    found.push_back(std::move(one));
  }
}

std::string SpanText(int64_t ms) {
  return base::Elapsed(std::chrono::milliseconds(std::max<int64_t>(ms / 1000 * 1000, 0)));
}

// No step comes any more, or nothing at all.
void LookForStandstill(const v1::Board& board, const std::optional<Standstill>& standstill,
                       int64_t silent_since_ms, std::vector<Found>& found) {
  if (!standstill && silent_since_ms == 0) return;
  Found one{"standstill", {}};
  one.trouble.set_kind(v1::Trouble::KIND_STALLED);
  if (standstill) {
    const v1::Progress& progress = board.progress();
    one.since_ms = standstill->since_ms;
    one.trouble.set_what("stalled: no step for " +
                         SpanText(board.time_ms() - standstill->last_step_ms) + "; usually " +
                         StepTimeText(standstill->usual_ms));
    AddEvidence(one.trouble, "last step",
                base::Thousands(progress.step()) +
                    (progress.has_total() ? " of " + base::Thousands(progress.total()) : "") +
                    ", at " + base::LocalTime("%H:%M:%S", standstill->last_step_ms / 1000),
                "its output");
  } else {
    one.since_ms = silent_since_ms;
    one.trouble.set_what("stalled: no rank has given a sign of life for " +
                         SpanText(board.time_ms() - silent_since_ms));
    AddEvidence(one.trouble, "last sign of life",
                "at " + base::LocalTime("%H:%M:%S", silent_since_ms / 1000), "--hang-timeout");
  }
  found.push_back(std::move(one));
}

// "4.0 times"
void LookForSlowdown(const std::optional<Slowdown>& slowdown, std::vector<Found>& found) {
  if (!slowdown) return;
  Found one{"slowdown", {}, 0, slowdown->since_ms};
  one.trouble.set_kind(v1::Trouble::KIND_SLOW);
  one.trouble.set_what("steps take " + StepTimeText(slowdown->step_ms) + ", " +
                       Decimal(slowdown->step_ms / slowdown->before_ms) +
                       " times as long as before " +
                       base::LocalTime("%H:%M", slowdown->since_ms / 1000));
  AddEvidence(one.trouble, kStepTime,
              StepTimeText(slowdown->step_ms) + "; before: " + StepTimeText(slowdown->before_ms),
              "its output");
  found.push_back(std::move(one));
}

}  // namespace

bool CoresSuffice(const v1::HostSample& host) {
  return host.has_cpu_pressure() && host.cpu_pressure() < kNoCpuPressure;
}

const v1::Trouble* StandstillIn(const v1::Board& board) {
  const auto found =
      std::ranges::find(board.troubles(), v1::Trouble::KIND_STALLED, &v1::Trouble::kind);
  return found == board.troubles().end() ? nullptr : &*found;
}

std::optional<double> MedianRate(const v1::Board& board) {
  const std::vector<double> rates = RatesOf(board);
  return rates.empty() ? std::nullopt : std::optional(rates[rates.size() / 2]);
}

std::vector<v1::Trouble> TroubleWatch::Look(const v1::Board& board, const Signs& signs) {
  std::vector<Found> found;
  steps_.Look(board, signs.other_work_ms);
  const auto standstill = steps_.standstill();
  LookAtRanks(board, found);
  LookForStandstill(board, standstill, signs.silent_since_ms, found);
  if (!standstill && signs.silent_since_ms == 0) {
    LookForSlowdown(steps_.slowdown(), found);
    LookAtSteps(board, found);
  }
  for (int node = 0; node < board.nodes_size(); ++node) {
    LookAtPhase(board, node, found);
    if (board.nodes(node).phase() != v1::NODE_PHASE_RUNNING) continue;  // what was
    LookAtGpus(board, node, found);
    LookAtHost(board, node, found);
    LookAtCores(board, node, found);
  }
  std::map<std::string, int64_t> since;
  std::vector<v1::Trouble> troubles;
  for (Found& one : found) {
    const auto before = since_.find(one.key);
    int64_t begin = before == since_.end() ? board.time_ms() : before->second;
    if (one.since_ms > 0) begin = one.since_ms;
    since[one.key] = begin;
    if (board.time_ms() - begin < one.only_after_ms) continue;
    one.trouble.set_since_ms(begin);
    troubles.push_back(std::move(one.trouble));
  }
  since_ = std::move(since);
  std::ranges::stable_sort(troubles, {}, &v1::Trouble::kind);
  LeadWithReport(board, troubles);
  return troubles;
}

}  // namespace autodist::board
