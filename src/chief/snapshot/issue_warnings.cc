#include "chief/snapshot/issue_warnings.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/wall_clock.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"

namespace autodist::chief {
namespace {

bool IsReported(const v1::Issue& issue) {
  return issue.kind() == v1::Issue::KIND_SLOW || issue.kind() == v1::Issue::KIND_WARNING;
}

const std::string& CauseOf(const v1::Issue& issue) {
  return issue.evidence_size() > 0 ? issue.evidence(0).what() : issue.what();
}

bool IsOfSteps(const v1::Issue& issue) { return CauseOf(issue) == issues::kStepsPerSecond; }

// The subject and the cause; the numbers in the text may change.
std::string KeyOf(const v1::Issue& issue) {
  std::string key = CauseOf(issue);
  for (const uint32_t node : issue.nodes()) key += " node " + std::to_string(node);
  for (const uint32_t rank : issue.ranks()) key += " rank " + std::to_string(rank);
  return key;
}

bool IsAbout(const v1::Issue& issue, uint32_t rank) {
  return std::ranges::find(issue.ranks(), rank) != issue.ranks().end();
}

bool HasLasted(const v1::JobSnapshot& snapshot, const v1::Issue& issue,
               std::chrono::milliseconds time) {
  return snapshot.time_ms() - issue.since_ms() >= time.count();
}

std::string WithTime(const v1::Issue& issue) {
  if (CauseOf(issue) == issues::kStepTime) return issue.what();  // includes the time
  return issue.what() + " since " + base::LocalTime("%H:%M", issue.since_ms() / 1000);
}

// For a rank that was just named: "its GPU is throttled".
std::string WithoutName(const v1::JobSnapshot& snapshot, const v1::Issue& issue) {
  const std::string& what = issue.what();
  for (const uint32_t rank : issue.ranks()) {
    const std::string name = snapshot::RankName(snapshot, rank) + " is slow: ";
    if (what.starts_with(name)) return what.substr(name.size());
  }
  return what;
}

}  // namespace

std::vector<IssueWarning> IssueWarnings::Take(const v1::JobSnapshot& snapshot) {
  std::vector<IssueWarning> warnings;
  if (snapshot.job().phase() != v1::JOB_PHASE_RUNNING) return warnings;
  for (const v1::Issue& slow : snapshot.issues()) {
    if (lines_ == kMaxLines)
      return warnings;  // skips the search for causes with thousands of ranks
    if (!IsReported(slow) || !IsOfSteps(slow) || slow.ranks_size() == 0) continue;
    if (!HasLasted(snapshot, slow, issues::kWarnOfSlowStepsAfter) ||
        !reported_.insert(KeyOf(slow)).second)
      continue;
    std::string what = WithTime(slow);
    for (const v1::Issue& cause : snapshot.issues()) {
      if (!IsReported(cause) || IsOfSteps(cause) || !IsAbout(cause, slow.ranks(0))) continue;
      what += "; " + WithoutName(snapshot, cause);
      reported_.insert(KeyOf(cause));
    }
    Add(snapshot, slow, std::move(what), warnings);
  }
  for (const v1::Issue& issue : snapshot.issues()) {
    if (!IsReported(issue) || IsOfSteps(issue) || !HasLasted(snapshot, issue, issues::kWarnAfter))
      continue;
    if (reported_.insert(KeyOf(issue)).second) Add(snapshot, issue, WithTime(issue), warnings);
  }
  return warnings;
}

void IssueWarnings::Add(const v1::JobSnapshot& snapshot, const v1::Issue& issue, std::string what,
                        std::vector<IssueWarning>& warnings) {
  if (lines_ == kMaxLines) return;
  if (++lines_ == kMaxLines) what += "; no more such warnings are shown, see `autodist top`";
  const bool has_node =
      issue.nodes_size() > 0 && issue.nodes(0) < static_cast<uint32_t>(snapshot.nodes_size());
  warnings.push_back(
      {has_node ? snapshot.nodes(static_cast<int>(issue.nodes(0))).address() : std::string(),
       std::move(what)});
}

}  // namespace autodist::chief
