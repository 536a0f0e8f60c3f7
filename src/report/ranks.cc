// Ranks and nodes: who was slow, who failed, and where they were.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "report/sections.h"

namespace autodist::report {
namespace {

constexpr size_t kMostSlow = 10;
constexpr size_t kMostFailed = 20;

std::string NodeOf(const v1::Board& board, const v1::BoardRank& rank) {
  if (rank.node() >= static_cast<uint32_t>(board.nodes_size())) return "";
  return board.nodes(static_cast<int>(rank.node())).address();
}

std::vector<const v1::BoardRank*> WithRate(const v1::Board& board) {
  std::vector<const v1::BoardRank*> ranks;
  for (const v1::BoardRank& rank : board.ranks()) {
    if (!rank.auxiliary() && rank.progress().rate() > 0) ranks.push_back(&rank);
  }
  std::ranges::stable_sort(ranks, {},
                           [](const v1::BoardRank* rank) { return rank->progress().rate(); });
  return ranks;
}

// "8 × 80 GB"; of what is known.
std::string GpusText(const v1::NodeSample& sample) {
  if (sample.gpus().empty()) return "";
  const v1::GpuSample& first = sample.gpus(0);
  const std::string memory =
      first.memory_total() > 0 ? " × " + base::Bytes(first.memory_total()) : "";
  return std::to_string(sample.gpus_size()) + memory;
}

std::string NodePhaseText(const v1::BoardNode& node) {
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

Tone ToneOfNode(v1::NodePhase phase) {
  if (phase == v1::NODE_PHASE_RECONNECTING) return Tone::kAway;
  return phase == v1::NODE_PHASE_LOST ? Tone::kBad : Tone::kPlain;
}

// Columns of which nothing is known.
void DropEmptyColumns(Table& table) {
  for (size_t i = table.heading.size(); i-- > 0;) {
    const auto known = [i](const std::vector<Cell>& row) { return !row[i].text.empty(); };
    if (std::ranges::any_of(table.rows, known)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.heading.erase(table.heading.begin() + at);
    for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
  }
}

// "0-7, 9".
std::string RangesText(std::vector<uint32_t> ranks) {
  std::ranges::sort(ranks);
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t first = i;
    while (i + 1 < ranks.size() && ranks[i + 1] == ranks[i] + 1) ++i;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[first]);
    if (i > first) text += "-" + std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

std::string RankName(const v1::BoardRank& rank) {
  return rank.name().empty() ? "rank " + std::to_string(rank.rank()) : rank.name();
}

std::string Place(const v1::Board& board, const v1::BoardRank& rank) {
  std::string text = NodeOf(board, rank);
  for (const uint32_t gpu : rank.gpus()) {
    text += (text.empty() ? "GPU " : ", GPU ") + std::to_string(gpu);
  }
  return text;
}

// Where two ranks differ at all: what all share makes none of them slow.
Section SlowestSection(const v1::Board& board) {
  std::vector<const v1::BoardRank*> ranks = WithRate(board);
  if (ranks.size() < 2) return {};
  const double median = ranks[ranks.size() / 2]->progress().rate();
  const size_t all = ranks.size();
  ranks.resize(std::min(ranks.size(), kMostSlow));
  Table table{{{"rank"}, {"where"}, Number("steps/s"), Number("of the median"), {"last line"}}, {}};
  for (const v1::BoardRank* rank : ranks) {
    const double rate = rank->progress().rate();
    table.rows.push_back({{RankName(*rank)},
                          {Place(board, *rank)},
                          Number(NumberText(rate)),
                          Number(base::Percent(std::min(rate / median, 1e6))),
                          Code(rank->last_line())});
  }
  DropEmptyColumns(table);
  return {"Slowest ranks, of " + std::to_string(all), {std::move(table)}};
}

Section FailedSection(const JobFacts& facts) {
  Table table{{{"rank"}, {"where"}, {"how it ended"}, {"last line"}}, {}};
  size_t failed = 0;
  for (const v1::BoardRank& rank : facts.board.ranks()) {
    const bool lost = rank.state() == v1::RANK_STATE_LOST;
    if (rank.state() != v1::RANK_STATE_FAILED && !lost) continue;
    if (++failed > kMostFailed) continue;
    const std::string ended = !rank.ended().empty() ? rank.ended() : lost ? "lost" : "failed";
    table.rows.push_back({{RankName(rank), Cell::Kind::kText, Tone::kBad},
                          {Place(facts.board, rank)},
                          {ended},
                          Code(rank.last_line())});
  }
  if (table.rows.empty()) return {};
  DropEmptyColumns(table);
  Section section{"Ranks that failed or are lost", {std::move(table)}};
  if (failed > kMostFailed) {
    section.blocks.push_back(
        Paragraph{"and " + base::Count(failed - kMostFailed, "other"), Tone::kPlain});
  }
  for (const LastLines& last : facts.last_lines) {
    if (last.text.empty()) continue;
    section.blocks.push_back(
        Paragraph{"rank " + std::to_string(last.rank) + ", the end of " + last.file, Tone::kPlain});
    section.blocks.push_back(Lines{last.text});
  }
  return section;
}

Section NodesSection(const v1::Board& board) {
  if (board.nodes().empty()) return {};
  Table table{{{"node"}, {"state"}, {"ranks"}, {"GPUs"}, Number("cores"), Number("memory")}, {}};
  for (const v1::BoardNode& node : board.nodes()) {
    const v1::HostSample& host = node.sample().host();
    table.rows.push_back({{node.address()},
                          {NodePhaseText(node), Cell::Kind::kText, ToneOfNode(node.phase())},
                          {RangesText({node.ranks().begin(), node.ranks().end()})},
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
