#include "report/contents.h"

#include <utility>

#include "base/quantity.h"
#include "base/shell_quote.h"
#include "report/sections.h"
#include "snapshot/goodput_accounting.h"
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
  const auto goodput = snapshot::Goodput(spent);
  if (goodput && spent.training() + spent.lost_steps() > 0) {
    add("goodput", base::Percent(*goodput));
  }
  if (job.max_restarts() > 0 || job.attempt() > 0) add("restarts", std::to_string(job.attempt()));
  if (const auto time = snapshot::TimeToRecover(snapshot)) {
    add("time to recover", base::ExactlyElapsed(std::chrono::milliseconds(*time)));
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
