#include "cli/steps_text.h"

#include <algorithm>
#include <cstdio>

#include "base/json_quote.h"
#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "snapshot/lookup.h"

namespace autodist::cli {
namespace {

constexpr int kMostMetrics = 8;

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

bool IsOfSteps(const v1::Issue& issue) {
  return issue.kind() == v1::Issue::KIND_STALLED || issue.kind() == v1::Issue::KIND_SLOW;
}

}  // namespace

JobDetails DetailsOf(const v1::JobSnapshot& snapshot) {
  JobDetails details;
  details.stalled = snapshot::StandstillIn(snapshot) != nullptr;
  const v1::Progress& progress = snapshot.progress();
  if (progress.has_step()) details.rows.emplace_back("progress", StepsText(progress));
  std::string metrics;
  for (int i = 0; i < std::min(progress.metrics_size(), kMostMetrics); ++i) {
    const v1::Metric& metric = progress.metrics(i);
    metrics += (metrics.empty() ? "" : ", ") + base::Printable(metric.name()) + " " +
               FigureText(metric.value());
  }
  if (!metrics.empty()) details.rows.emplace_back("metrics", metrics);
  for (const v1::Issue& issue : snapshot.troubles()) {
    if (IsOfSteps(issue)) details.rows.emplace_back("issue", issue.what());
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
