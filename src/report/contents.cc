#include "report/contents.h"

#include <utility>

#include "base/quantity.h"
#include "base/shell_quote.h"
#include "board/ledger.h"
#include "board/troubles.h"
#include "report/sections.h"

namespace autodist::report {
namespace {

struct State {
  std::string text;
  Tone tone;
};

State StateOf(const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED) {
    if (job.exit_code() == 0) return {"ended well", Tone::kPlain};
    const std::string code = "exit code " + std::to_string(job.exit_code());
    if (job.told_to_stop()) return {"stopped, " + code, Tone::kPlain};
    return {"failed, " + code, Tone::kBad};
  }
  if (job.chief_gone()) return {"crashed: its autodist is gone", Tone::kBad};
  switch (job.phase()) {
    case v1::JOB_PHASE_LAUNCHING:
      return {"launching", Tone::kRunning};
    case v1::JOB_PHASE_STOPPING:
      return {"stopping", Tone::kRunning};
    case v1::JOB_PHASE_RESTARTING:
      return {"restarting", Tone::kBad};
    default:
      return {"running", Tone::kRunning};
  }
}

std::string StepText(const v1::Progress& progress) {
  const std::string step = base::Thousands(progress.step());
  return progress.has_total() ? step + " of " + base::Thousands(progress.total()) : step;
}

Facts KeyFacts(const v1::Board& board) {
  constexpr int kMostMetrics = 4;
  Facts facts;
  const auto add = [&](const std::string& name, std::string value) {
    facts.facts.push_back({name, Number(std::move(value))});
  };
  const v1::JobStatus& job = board.job();
  const v1::Progress& progress = board.progress();
  if (progress.has_step()) add("step", StepText(progress));
  const bool ended = job.phase() == v1::JOB_PHASE_ENDED;
  if (progress.has_rate()) {
    add(ended ? "rate at the end" : "rate", NumberText(progress.rate()) + " steps/s");
  }
  for (int i = 0; i < progress.metrics_size() && i < kMostMetrics; ++i) {
    add(progress.metrics(i).name(), NumberText(progress.metrics(i).value()));
  }
  if (progress.has_eta() && !ended && progress.eta() >= 0 && progress.eta() < 1e9) {
    add("left", SpanText(static_cast<int64_t>(progress.eta() * 1000)));
  }
  if (job.started_ms() > 0) add("elapsed", SpanText(EndOf(board) - job.started_ms()));
  const v1::Ledger& ledger = board.ledger();
  const auto goodput = board::Goodput(ledger);
  if (goodput && ledger.training() + ledger.lost_steps() > 0) {
    add("goodput", base::Percent(*goodput));
  }
  if (job.max_restarts() > 0 || job.attempt() > 0) add("restarts", std::to_string(job.attempt()));
  return facts;
}

Tone ToneOf(v1::Trouble::Kind kind) {
  switch (kind) {
    case v1::Trouble::KIND_FAILED:
    case v1::Trouble::KIND_STALLED:
      return Tone::kBad;
    case v1::Trouble::KIND_AWAY:
      return Tone::kAway;
    default:
      return Tone::kSlow;
  }
}

// Each with its evidence, and with what was ruled out.
void AddTroubles(const v1::Board& board, std::vector<Block>& blocks) {
  for (const v1::Trouble& trouble : board.troubles()) {
    std::string text = trouble.what();
    if (!trouble.cost().empty()) text += " " + trouble.cost();
    if (trouble.since_ms() > 0) text += " (since " + TimeText(trouble.since_ms()) + ")";
    blocks.push_back(Paragraph{std::move(text), ToneOf(trouble.kind())});
    Table evidence{{{"evidence"}, {""}, {"from"}}, {}};
    for (const v1::Evidence& one : trouble.evidence()) {
      evidence.rows.push_back(
          {{(one.against() ? "ruled out: " : "") + one.what()}, {one.value()}, {one.source()}});
    }
    if (!evidence.rows.empty()) blocks.push_back(std::move(evidence));
  }
}

}  // namespace

Document ContentsOf(const JobFacts& facts) {
  const v1::Board& board = facts.board;
  const v1::JobStatus& job = board.job();
  Document document;
  document.title = job.name().empty() ? job.job_id() : job.name() + " (" + job.job_id() + ")";
  document.command = base::ShellLine({job.command().begin(), job.command().end()});
  State state = StateOf(job);
  if (job.phase() == v1::JOB_PHASE_RUNNING && !job.chief_gone() && board::StandstillIn(board)) {
    state = {"stalled", Tone::kBad};
  }
  document.state = std::move(state.text);
  document.tone = state.tone;
  document.summary.push_back(KeyFacts(board));
  AddTroubles(board, document.summary);
  if (!job.report().empty()) document.summary.push_back(Lines{job.report()});
  for (const Section& section :
       {TimeSection(board), AttemptsSection(board), CurvesSection(board, facts.history),
        FailedSection(facts), SlowestSection(board), NodesSection(board), EventsSection(board),
        RunSection(job)}) {
    if (!section.blocks.empty()) document.sections.push_back(section);
  }
  return document;
}

}  // namespace autodist::report
