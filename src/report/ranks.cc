// Sections of ranks and nodes: slow ranks, failed ranks, places.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/ranges.h"
#include "report/sections.h"
#include "snapshot/lookup.h"
#include "snapshot/state_names.h"

namespace autodist::report {
namespace {

constexpr size_t kMaxSlow = 10;
constexpr size_t kMaxFailed = 20;

// Ranks whose steps are compared, slowest first.
std::vector<const v1::RankSnapshot*> Compared(const v1::JobSnapshot& snapshot) {
  std::vector<const v1::RankSnapshot*> ranks;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.has_relative()) ranks.push_back(&rank);
  }
  std::ranges::stable_sort(ranks, std::greater(),
                           [](const v1::RankSnapshot* rank) { return rank->relative(); });
  return ranks;
}

// "8 × 80 GB", as far as known.
std::string GpusText(const v1::NodeSample& sample) {
  if (sample.gpus().empty()) return "";
  const v1::GpuSample& first = sample.gpus(0);
  const std::string memory =
      first.memory_total() > 0 ? " × " + base::Bytes(first.memory_total()) : "";
  return std::to_string(sample.gpus_size()) + memory;
}

std::string NodePhaseText(const v1::NodeSnapshot& node) {
  if (!node.detail().empty()) return node.detail();
  switch (node.phase()) {
    case v1::NODE_PHASE_RECONNECTING:
      return "does not answer";
    case v1::NODE_PHASE_LOST:
      return "lost";
    case v1::NODE_PHASE_ENDED:
      return "ended";
    case v1::NODE_PHASE_RUNNING:
      return "running";
    default:
      return "";
  }
}

// Removes columns without values.
void DropEmptyColumns(Table& table) {
  for (size_t i = table.heading.size(); i-- > 0;) {
    const auto known = [i](const std::vector<Cell>& row) { return !row[i].text.empty(); };
    if (std::ranges::any_of(table.rows, known)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.heading.erase(table.heading.begin() + at);
    for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
  }
}

}  // namespace

std::string RankName(const v1::RankSnapshot& rank) {
  return rank.name().empty() ? "rank " + std::to_string(rank.rank()) : rank.name();
}

std::string Place(const v1::JobSnapshot& snapshot, const v1::RankSnapshot& rank) {
  const v1::NodeSnapshot* node = snapshot::NodeOf(snapshot, rank);
  std::string text = node ? node->address() : "";
  for (const uint32_t gpu : rank.gpus()) {
    text += (text.empty() ? "GPU " : ", GPU ") + std::to_string(gpu);
  }
  return text;
}

// Empty if all ranks are equally fast.
Section SlowestSection(const v1::JobSnapshot& snapshot) {
  std::vector<const v1::RankSnapshot*> ranks = Compared(snapshot);
  if (ranks.empty()) return {};
  const size_t all = ranks.size();
  ranks.resize(std::min(ranks.size(), kMaxSlow));
  Table table{{{"rank"}, {"where"}, Number("steps/s"), Number("of the median"), {"last line"}}, {}};
  for (const v1::RankSnapshot* rank : ranks) {
    table.rows.push_back({{RankName(*rank)},
                          {Place(snapshot, *rank)},
                          Number(NumberText(1 / rank->step_time())),
                          Number(base::Percent(std::min(1 / rank->relative(), 1e6))),
                          Code(rank->last_line())});
  }
  DropEmptyColumns(table);
  return {"Slowest ranks, of " + std::to_string(all), {std::move(table)}};
}

Section FailedSection(const JobFacts& facts) {
  Table table{{{"rank"}, {"where"}, {"how it ended"}, {"last line"}}, {}};
  size_t failed = 0;
  for (const v1::RankSnapshot& rank : facts.snapshot.ranks()) {
    const bool lost = rank.state() == v1::RANK_STATE_LOST;
    if (rank.state() != v1::RANK_STATE_FAILED && !lost) continue;
    if (++failed > kMaxFailed) continue;
    const std::string ended = !rank.ended().empty() ? rank.ended() : lost ? "lost" : "failed";
    table.rows.push_back({{RankName(rank), Cell::Kind::kText, Severity::kBad},
                          {Place(facts.snapshot, rank)},
                          {ended},
                          Code(rank.last_line())});
  }
  if (table.rows.empty()) return {};
  DropEmptyColumns(table);
  Section section{"Ranks that failed or are lost", {std::move(table)}};
  if (failed > kMaxFailed) {
    section.blocks.push_back(
        Paragraph{"and " + base::Count(failed - kMaxFailed, "other"), Severity::kPlain});
  }
  for (const LastLines& last : facts.last_lines) {
    if (last.text.empty()) continue;
    section.blocks.push_back(Paragraph{
        "rank " + std::to_string(last.rank) + ", the end of " + last.file, Severity::kPlain});
    section.blocks.push_back(Lines{last.text});
  }
  return section;
}

Section NodesSection(const v1::JobSnapshot& snapshot) {
  if (snapshot.nodes().empty()) return {};
  Table table{{{"node"}, {"state"}, {"ranks"}, {"GPUs"}, Number("cores"), Number("memory")}, {}};
  for (const v1::NodeSnapshot& node : snapshot.nodes()) {
    const v1::HostSample& host = node.sample().host();
    table.rows.push_back(
        {{node.address()},
         {NodePhaseText(node), Cell::Kind::kText, ToneOf(snapshot::MarkOfPhase(node.phase()))},
         {base::RangesText(node.ranks(), ", ")},
         {GpusText(node.sample())},
         Number(host.cores() > 0 ? std::to_string(host.cores()) : ""),
         Number(host.has_memory_total() ? base::Bytes(host.memory_total()) : "")});
  }
  DropEmptyColumns(table);
  return {"Where", {std::move(table)}};
}

Section RunSection(const v1::JobStatus& job) {
  Facts facts;
  const auto add = [&](const std::string& name, Cell value) {
    if (!value.text.empty()) facts.facts.push_back({name, std::move(value)});
  };
  add("folder", Code(job.working_directory()));
  if (job.world_size() > 0) {
    const auto nodes = static_cast<size_t>(job.nodes_size());
    const std::string on = nodes > 0 ? " on " + base::Count(nodes, "node") : "";
    add("ranks", {base::Count(job.world_size(), "rank") + on});
  }
  add("started", {TimeText(job.started_ms())});
  add("ended", {TimeText(job.ended_ms())});
  add("from", {job.host()});
  add("job", Code(job.job_id()));
  add("logs", Code(job.log_folder()));
  if (facts.facts.empty()) return {};
  return {"The job", {std::move(facts)}};
}

}  // namespace autodist::report
