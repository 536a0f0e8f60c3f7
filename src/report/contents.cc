#include "report/contents.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "base/quantity.h"
#include "base/ranges.h"
#include "base/shell_quote.h"
#include "report/sections.h"
#include "snapshot/goodput_accounting.h"
#include "snapshot/lookup.h"
#include "snapshot/recovery_times.h"
#include "snapshot/state_names.h"

namespace autodist::report {
namespace {

std::string StepText(const v1::Progress& progress) {
  const std::string step = base::Thousands(progress.step());
  return progress.has_total() ? step + " of " + base::Thousands(progress.total()) : step;
}

Facts KeyFacts(const v1::JobSnapshot& snapshot) {
  constexpr int kMaxMetrics = 4;
  Facts facts;
  const auto add = [&](const std::string& name, std::string value) {
    facts.facts.push_back({name, Number(std::move(value))});
  };
  const v1::JobStatus& job = snapshot.job();
  const v1::Progress& progress = snapshot.progress();
  if (progress.has_step()) add("step", StepText(progress));
  const bool ended = job.phase() == v1::JOB_PHASE_ENDED;
  if (progress.has_rate()) {
    add(ended ? "rate at the end" : "rate", NumberText(progress.rate()) + " steps/s");
  }
  for (int i = 0; i < progress.metrics_size() && i < kMaxMetrics; ++i) {
    add(progress.metrics(i).name(), NumberText(progress.metrics(i).value()));
  }
  if (progress.has_eta() && !ended && progress.eta() >= 0 && progress.eta() < 1e9) {
    add("left", SpanText(static_cast<int64_t>(progress.eta() * 1000)));
  }
  if (job.started_ms() > 0) add("elapsed", SpanText(EndOf(snapshot) - job.started_ms()));
  const v1::GoodputParts& spent = snapshot.goodput_parts();
  const std::string goodput = snapshot::GoodputText(spent);
  if (spent.training() + spent.lost_steps() > 0 && !goodput.empty()) add("goodput", goodput);
  if (job.max_restarts() > 0 || job.attempt() > 0) add("restarts", std::to_string(job.attempt()));
  if (const auto time = snapshot::TimeToRecover(snapshot)) {
    add("time to recover", base::ExactlyElapsed(std::chrono::milliseconds(*time)) +
                               (spent.steps_known() ? "" : ", until its ranks ran"));
  }
  if (!snapshot.checkpoint().empty()) {
    add("newest checkpoint", snapshot.checkpoint() + ", " + TimeText(snapshot.checkpoint_ms()));
  }
  return facts;
}

// A running job has a glyph; one that exited with 0 has none.
Severity ToneOfJob(v1::Mark mark) {
  const Severity tone = ToneOf(mark);
  const bool runs = tone == Severity::kPlain && mark != v1::MARK_ENDED;
  return runs ? Severity::kRunning : tone;
}

Severity ToneOfIssue(v1::Issue::Kind kind) {
  const Severity tone = ToneOf(snapshot::MarkOf(kind));
  return tone == Severity::kPlain ? Severity::kSlow : tone;
}

// Adds the issues with their evidence and what was ruled out.
void AddIssues(const v1::JobSnapshot& snapshot, std::vector<Block>& blocks) {
  for (const v1::Issue& issue : snapshot.issues()) {
    std::string text = issue.what();
    if (!issue.cost().empty()) text += " " + issue.cost();
    if (issue.since_ms() > 0) text += " (since " + TimeText(issue.since_ms()) + ")";
    blocks.push_back(Paragraph{std::move(text), ToneOfIssue(issue.kind())});
    Table evidence{{{"evidence"}, {""}, {"from"}}, {}};
    for (const v1::Evidence& one : issue.evidence()) {
      evidence.rows.push_back(
          {{(one.against() ? "ruled out: " : "") + one.what()}, {one.value()}, {one.source()}});
    }
    if (!evidence.rows.empty()) blocks.push_back(std::move(evidence));
  }
}

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

// As in snapshot and job: "rank 3".
std::string RankName(const v1::RankSnapshot& rank) {
  return rank.name().empty() ? "rank " + std::to_string(rank.rank()) : rank.name();
}

// Its node and GPUs: "node4, GPU 5".
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

// The failed ranks, and the end of their output.
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

// The command, its folder and machine.
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

}  // namespace

Severity ToneOf(v1::Mark mark) {
  switch (mark) {
    case v1::MARK_FAILED:
    case v1::MARK_STALLED:
      return Severity::kBad;
    case v1::MARK_SLOW:
      return Severity::kSlow;
    case v1::MARK_DISCONNECTED:
      return Severity::kAway;
    default:
      return Severity::kPlain;
  }
}

Document ContentsOf(const JobFacts& facts) {
  const v1::JobSnapshot& snapshot = facts.snapshot;
  const v1::JobStatus& job = snapshot.job();
  Document document;
  document.title = job.name().empty() ? job.job_id() : job.name() + " (" + job.job_id() + ")";
  document.command = base::ShellLine({job.command().begin(), job.command().end()});
  document.state = snapshot.state();
  document.tone = ToneOfJob(snapshot.mark());
  document.summary.push_back(KeyFacts(snapshot));
  AddIssues(snapshot, document.summary);
  if (!job.report().empty()) document.summary.push_back(Lines{job.report()});
  for (const Section& section :
       {TimeSection(snapshot), AttemptsSection(snapshot), CurvesSection(snapshot, facts.history),
        FailedSection(facts), SlowestSection(snapshot), NodesSection(snapshot),
        EventsSection(snapshot), RunSection(job)}) {
    if (!section.blocks.empty()) document.sections.push_back(section);
  }
  return document;
}

}  // namespace autodist::report
