#include "issues/issue_detector.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

// The job's report knows which of several failed ranks is to blame, or that none of them is.
void LeadWithReport(const v1::JobSnapshot& snapshot, std::vector<v1::Issue>& issues) {
  const std::string& report = snapshot.job().report();
  if (snapshot.job().exit_code() == 0 || report.empty()) return;
  const auto failed = [](const v1::Issue& issue) { return issue.kind() == v1::Issue::KIND_FAILED; };
  auto first = std::ranges::find_if(issues, [&](const v1::Issue& issue) {
    const v1::RankSnapshot* rank =
        failed(issue) ? snapshot::FindRank(snapshot, issue.ranks(0)) : nullptr;
    return rank && report.starts_with(rank->name() + " on ");
  });
  if (first == issues.end()) first = std::ranges::find_if(issues, failed);
  if (first == issues.end()) return;
  first->set_what(base::Printable(base::FirstLine(report)));
  std::rotate(issues.begin(), first, first + 1);
}

std::string SpanText(int64_t ms) {
  return base::Elapsed(std::chrono::milliseconds(std::max<int64_t>(ms / 1000 * 1000, 0)));
}

Found StalledSteps(const v1::JobSnapshot& snapshot, const Standstill& standstill) {
  const v1::Progress& progress = snapshot.progress();
  Found one;
  one.since_ms = standstill.since_ms;
  one.issue.set_what("stalled: no step for " +
                     SpanText(snapshot.time_ms() - standstill.last_step_ms) + "; usually " +
                     StepTimeText(standstill.usual_ms));
  AddEvidence(one.issue, "last step",
              base::Thousands(progress.step()) +
                  (progress.has_total() ? " of " + base::Thousands(progress.total()) : "") +
                  ", at " + base::LocalTime("%H:%M:%S", standstill.last_step_ms / 1000),
              "its output");
  return one;
}

Found SilentRanks(const v1::JobSnapshot& snapshot, int64_t since_ms) {
  Found one;
  one.since_ms = since_ms;
  one.issue.set_what("stalled: no rank showed activity for " +
                     SpanText(snapshot.time_ms() - since_ms));
  AddEvidence(one.issue, "last activity", "at " + base::LocalTime("%H:%M:%S", since_ms / 1000),
              "--hang-timeout");
  return one;
}

Found SlowSteps(const Slowdown& slowdown) {
  Found one;
  one.key = "slowdown";
  one.since_ms = slowdown.since_ms;
  one.issue.set_kind(v1::Issue::KIND_SLOW);
  one.issue.set_what("steps take " + StepTimeText(slowdown.step_ms) + ", " +
                     Decimal(slowdown.step_ms / slowdown.before_ms) + " times as long as before " +
                     base::LocalTime("%H:%M", slowdown.since_ms / 1000));
  AddEvidence(one.issue, kStepTime,
              StepTimeText(slowdown.step_ms) + "; before: " + StepTimeText(slowdown.before_ms),
              "its output");
  return one;
}

}  // namespace

std::vector<v1::Issue> IssueDetector::Detect(const v1::JobSnapshot& snapshot, const Signs& signs) {
  const Snapshots now{snapshot, nullptr};
  AllFound found;
  FailedRanks(now, found);
  steps_.Update(snapshot, signs.other_work_ms);
  const auto standstill = steps_.standstill();
  if (standstill || signs.silent_since_ms > 0) {
    Found one = standstill ? StalledSteps(snapshot, *standstill)
                           : SilentRanks(snapshot, signs.silent_since_ms);
    one.key = "standstill";
    one.issue.set_kind(v1::Issue::KIND_STALLED);
    found.push_back(std::move(one));
  } else {
    if (const auto slowdown = steps_.slowdown()) found.push_back(SlowSteps(*slowdown));
    SlowRanks(now, found);
  }
  DisconnectedNodes(now, found);
  for (const ResourceCheck& check : kResourceChecks) {
    if (!check.always) continue;
    const size_t first = found.size();
    check.find(now, found);
    for (size_t i = first; i < found.size(); ++i) found[i].min_duration_ms = check.min_duration_ms;
  }
  std::vector<v1::Issue> issues = ThatLast(std::move(found), snapshot.time_ms());
  LeadWithReport(snapshot, issues);
  return issues;
}

std::vector<v1::Issue> IssueDetector::ThatLast(AllFound found, int64_t now_ms) {
  std::map<std::string, int64_t> since;
  std::vector<v1::Issue> issues;
  for (Found& one : found) {
    const auto before = since_.find(one.key);
    int64_t begin = before == since_.end() ? now_ms : before->second;
    if (one.since_ms > 0) begin = one.since_ms;
    since[one.key] = begin;
    if (now_ms - begin < one.min_duration_ms) continue;
    one.issue.set_since_ms(begin);
    issues.push_back(std::move(one.issue));
  }
  since_ = std::move(since);
  std::ranges::stable_sort(issues, {}, &v1::Issue::kind);
  return issues;
}

std::optional<v1::Issue> FirstFailure(const v1::JobSnapshot& now) {
  for (const auto find : {FailedRanks, LostRanks, DisconnectedNodes}) {
    AllFound found;
    find({now, nullptr}, found);
    if (!found.empty()) return std::move(found.front().issue);
  }
  return std::nullopt;
}

std::vector<ResourceIssue> ResourceIssues(const v1::JobSnapshot& now,
                                          const v1::JobSnapshot* before) {
  std::vector<ResourceIssue> issues;
  for (const ResourceCheck& check : kResourceChecks) {
    if (!issues.empty() && issues.back().resource == check.resource) continue;
    AllFound found;
    check.find({now, before}, found);
    if (!found.empty()) issues.push_back({check.resource, std::move(found.front().issue)});
  }
  return issues;
}

}  // namespace autodist::issues
