#include "diagnosis/late_issues.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace autodist::diagnosis {

void AddIssue(v1::Check check, v1::CheckResult result, uint32_t node, const std::string& what,
              const std::string& remedy, v1::Diagnosis& diagnosis) {
  v1::DiagnosedIssue issue;
  issue.set_check(check);
  issue.set_result(result);
  issue.add_nodes(node);
  issue.set_what(what);
  issue.set_remedy(remedy);
  *diagnosis.add_issues() = std::move(issue);
  std::ranges::stable_sort(*diagnosis.mutable_issues(), std::greater(),
                           &v1::DiagnosedIssue::result);
  auto& checks = *diagnosis.mutable_nodes(static_cast<int>(node))->mutable_checks();
  const auto outcome = std::ranges::find(checks, check, &v1::CheckOutcome::check);
  if (outcome != checks.end() && outcome->result() != v1::CHECK_RESULT_BAD)
    outcome->set_result(result);
}

}  // namespace autodist::diagnosis
