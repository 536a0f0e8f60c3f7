#include "cli/job_progress.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cstdio>

#include "base/json_quote.h"
#include "base/parallel.h"
#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "control/job_client.h"
#include "snapshot/lookup.h"

namespace autodist::cli {
namespace {

constexpr int kMaxMetrics = 8;

// "0.51", "2.375", "1e-05".
std::string FigureText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string StepsText(const v1::Progress& progress) {
  std::string text = "step " + base::Thousands(progress.step());
  if (progress.total() > 0) text += " of " + base::Thousands(progress.total());
  if (!progress.what().empty()) text += ", " + base::Printable(progress.what());
  if (progress.has_rate()) text += ", " + FigureText(progress.rate()) + " steps/s";
  return text;
}

bool IsStepIssue(const v1::Issue& issue) {
  return issue.kind() == v1::Issue::KIND_STALLED || issue.kind() == v1::Issue::KIND_SLOW;
}

// nullopt: the job does not run, or the progress is unknown.
std::optional<v1::Progress> AskForProgress(const v1::JobStatus& job) {
  if (job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone()) return std::nullopt;
  const auto client = control::JobClient::Connect(job.job_id());
  if (!client.ok()) return std::nullopt;
  const auto snapshot = client->GetSnapshot(0);
  return snapshot.ok() && *snapshot ? ProgressIn(job, **snapshot) : std::nullopt;
}

}  // namespace

std::optional<v1::Progress> ProgressIn(const v1::JobStatus& job, const v1::JobSnapshot& snapshot) {
  const bool over = job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone();
  return over || !snapshot.has_progress() ? std::nullopt : std::optional(snapshot.progress());
}

ProgressOfJobs ProgressOf(const std::vector<v1::JobStatus>& jobs) {
  constexpr size_t kAskedAtOnce = 16;
  std::vector<std::optional<v1::Progress>> found(jobs.size());
  base::ParallelFor(jobs.size(), kAskedAtOnce,
                    [&](size_t i) { found[i] = AskForProgress(jobs[i]); });
  ProgressOfJobs known;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (found[i]) known.emplace(jobs[i].job_id(), *std::move(found[i]));
  }
  return known;
}

JobDetails DetailsOf(const v1::JobSnapshot& snapshot) {
  JobDetails details;
  details.stalled = snapshot::StandstillIn(snapshot) != nullptr;
  const v1::Progress& progress = snapshot.progress();
  if (progress.has_step()) details.rows.emplace_back("progress", StepsText(progress));
  std::vector<std::string> metrics;
  for (int i = 0; i < std::min(progress.metrics_size(), kMaxMetrics); ++i) {
    const v1::Metric& metric = progress.metrics(i);
    metrics.push_back(base::Printable(metric.name()) + " " + FigureText(metric.value()));
  }
  if (!metrics.empty()) details.rows.emplace_back("metrics", absl::StrJoin(metrics, ", "));
  for (const v1::Issue& issue : snapshot.issues()) {
    if (IsStepIssue(issue)) details.rows.emplace_back("issue", issue.what());
  }
  std::string restarted;
  for (const v1::JobEvent& event : snapshot.events()) {
    if (event.job_phase() == v1::JOB_PHASE_RESTARTING) restarted = event.what();
  }
  if (!restarted.empty()) {
    details.rows.emplace_back("restarted", "because " + std::string(base::FirstLine(restarted)));
  }
  return details;
}

std::string StalledJson(const v1::JobSnapshot& snapshot) {
  const v1::Issue* const stalled = snapshot::StandstillIn(snapshot);
  if (!stalled) return "null";
  return "{\"since_ms\":" + std::to_string(stalled->since_ms()) +
         ",\"what\":" + base::JsonQuoted(stalled->what()) + "}";
}

}  // namespace autodist::cli
