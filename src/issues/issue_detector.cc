#include "issues/issue_detector.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/quantity.h"
#include "base/ranges.h"
#include "base/split.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

constexpr size_t kGapsKept = 16;
constexpr size_t kRecentSpans = 5;
constexpr size_t kEarlierKept = 256;
constexpr int64_t kSpanMs = 1'000;  // shorter ones vary, because reports are delayed
// Bytes per second of one rank that exceed a log's: it may be saving a checkpoint.
constexpr double kCheckpointSpeed = 4e6;
// Received output that was not read for this long waits for the terminal.
constexpr int64_t kReadWithinMs = 2'000;

// The job may make progress without reporting steps: a rank saves, a node is away, or output waits.
bool MayGoOn(const v1::JobSnapshot& snapshot) {
  int64_t read_ms = 0;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.sample().written() >= kCheckpointSpeed) return true;
    read_ms = std::max(read_ms, rank.last_output_ms());
  }
  if (snapshot.job().last_output_ms() > read_ms + kReadWithinMs) return true;
  return std::ranges::any_of(snapshot.nodes(), [](const v1::NodeSnapshot& node) {
    return node.phase() == v1::NODE_PHASE_RECONNECTING;
  });
}

template <typename Spans>
double MedianStep(const Spans& spans) {
  std::vector<double> times;
  times.reserve(spans.size());
  for (const auto& span : spans) times.push_back(span.step_ms);
  return base::Median(times);
}

// All steps have been made; the program is finishing.
bool IsThrough(const v1::Progress& progress) {
  return progress.has_total() && progress.total() > 0 && progress.step() >= progress.total();
}

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

std::string StepTimeText(double ms) {
  if (ms < 100) return std::to_string(std::max<long>(std::lround(ms), 1)) + " ms";
  const double seconds = ms / 1000;
  if (seconds < 1) {
    const long hundredths = std::lround(seconds * 100);
    if (hundredths < 100) {
      return "0." + std::string(hundredths < 10 ? "0" : "") + std::to_string(hundredths) + " s";
    }
  }
  return base::Elapsed(std::chrono::milliseconds(std::llround(ms)));
}

void StepWatch::Begin(uint32_t attempt) {
  *this = StepWatch();
  attempt_ = attempt;
}

void StepWatch::Update(const v1::JobSnapshot& snapshot, int64_t other_work_ms) {
  if (attempt_ != snapshot.job().attempt()) Begin(snapshot.job().attempt());
  standstill_.reset();
  if (snapshot.job().phase() != v1::JOB_PHASE_RUNNING) return;
  uint64_t steps = 0;
  int64_t reported_ms = 0;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.auxiliary() || !rank.progress().has_step()) continue;
    steps += rank.progress().step();
    reported_ms = std::max(reported_ms, rank.progress().time_ms());
  }
  if (reported_ms == 0) return;
  if (steps_ != steps) {
    const bool first = !steps_;
    steps_ = steps;
    if (!first && reported_ms > reported_ms_) {
      gaps_.push_back(reported_ms - reported_ms_);
      if (gaps_.size() > kGapsKept) gaps_.pop_front();
    }
    reported_ms_ = reported_ms;
    TakeStep(snapshot.progress(), reported_ms);
  }
  alive_ms_ = std::max({alive_ms_, other_work_ms, MayGoOn(snapshot) ? snapshot.time_ms() : 0});
  Judge(snapshot);
}

void StepWatch::TakeStep(const v1::Progress& progress, int64_t reported_ms) {
  if (progress.rate() > 0) rate_ = progress.rate();
  const uint64_t step = progress.step();
  if (!mark_ || step < *mark_) {  // the program restarted its count
    mark_ = step;
    mark_ms_ = reported_ms;
    return;
  }
  if (step == *mark_ || reported_ms - mark_ms_ < kSpanMs) return;
  const auto time = static_cast<double>(reported_ms - mark_ms_);
  TakeSpan({mark_ms_, reported_ms, time / static_cast<double>(step - *mark_)});
  mark_ = step;
  mark_ms_ = reported_ms;
}

// Uses medians, so that one pause, such as an evaluation, does not count as slow.
void StepWatch::TakeSpan(const Span& span) {
  recent_.push_back(span);
  if (recent_.size() > kRecentSpans) recent_.pop_front();
  const bool steady = steady_ms_ >= kSteadyForMs && spans_ >= kSteadySpans;
  const double before = earlier_.empty() ? 0 : base::Median(earlier_);
  const bool unlike = span.step_ms >= kSlowdown * before || span.step_ms * kSlowdown <= before;
  if (!steady && !earlier_.empty() && unlike) {  // the job was only starting
    earlier_.clear();
    spans_ = 0;
    steady_ms_ = 0;
  }
  if (!steady || span.step_ms < kSlowdown * before) {
    if (slow_.size() >= kSlowdownSpans && steady) {
      // One fast span between slow ones does not end the slowdown; enough of them change the
      // median.
      if (MedianStep(recent_) >= kSlowdown * before) return;
    }
    slow_.clear();
    return KeepEarlier(span);
  }
  slow_.push_back(span);
  // Keeps the first, which has the start of the slowdown.
  if (slow_.size() > 2 * kSlowdownSpans) slow_.erase(slow_.begin() + 1);
}

// Thins the spans if there are many.
void StepWatch::KeepEarlier(const Span& span) {
  steady_ms_ += span.end_ms - span.begin_ms;
  if (spans_++ % stride_ != 0) return;
  earlier_.push_back(span.step_ms);
  if (earlier_.size() < kEarlierKept) return;
  size_t kept = 0;
  for (size_t i = 0; i < earlier_.size(); i += 2) earlier_[kept++] = earlier_[i];
  earlier_.resize(kept);
  stride_ *= 2;
}

void StepWatch::Judge(const v1::JobSnapshot& snapshot) {
  std::optional<double> usual = rate_ ? std::optional(1000 / *rate_) : std::nullopt;
  if (!recent_.empty()) usual = MedianStep(recent_);
  if (!usual || IsThrough(snapshot.progress())) return;
  double limit = std::max<double>(kStalledAfterMs, kStalledAfterSteps * *usual);
  if (!gaps_.empty()) {
    limit = std::max(limit, kStalledAfterReports * base::Median({gaps_.begin(), gaps_.end()}));
  }
  const int64_t since = std::max(reported_ms_, alive_ms_);
  if (static_cast<double>(snapshot.time_ms() - since) < limit) return;
  standstill_ = Standstill{since, reported_ms_, *usual};
}

std::optional<Slowdown> StepWatch::slowdown() const {
  if (standstill_ || slow_.size() < kSlowdownSpans) return std::nullopt;
  if (slow_.back().end_ms - slow_.front().begin_ms < kSlowdownForMs) return std::nullopt;
  return Slowdown{slow_.front().begin_ms, MedianStep(slow_), base::Median(earlier_)};
}

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
