#include "chief/start/prepared_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/a_few_of.h"
#include "base/exit_codes.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "chief/checks/preflight.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/diagnosis_text.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxIssuesShown = 5;  // below a heading

std::string Indented(const std::string& text, const std::string& indent) {
  std::string indented = indent;
  for (const char c : text) {
    indented += c;
    if (c == '\n') indented += indent;
  }
  return indented + "\n";
}

std::string CauseAndRemedy(const std::string& cause, const std::string& remedy) {
  std::string text = Indented(cause, "    ");
  if (!remedy.empty()) text += Indented("hint: " + remedy, "    ");
  return text;
}

}  // namespace

std::string WhyRefused(const launch::LaunchedNode& node) {
  if (!node.status.ok()) return Message(node.status);
  return node.prepared.issues_size() > 0 ? node.prepared.issues(0).cause() : "";
}

std::string LaunchReport(const v1::LaunchPlan& plan, const std::vector<launch::LaunchedNode>& nodes,
                         bool synced, uint32_t attempt, bool lacks_program_here) {
  diagnosis::Evidence evidence = EvidenceOf(plan, nodes);
  evidence.synced = synced;
  evidence.restarts = attempt > 0;
  evidence.lacks_program_here = lacks_program_here;
  return LaunchReport(diagnosis::DiagnoseLaunch(evidence), nodes.size(), attempt);
}

std::string LaunchReport(const v1::Diagnosis& diagnosis, size_t nodes, uint32_t attempt) {
  std::set<uint32_t> failed;
  std::vector<std::pair<std::string, std::vector<const v1::DiagnosedIssue*>>> of_nodes;
  for (const v1::DiagnosedIssue& issue : diagnosis.issues()) {
    if (issue.result() != v1::CHECK_RESULT_BAD) continue;
    failed.insert(issue.nodes().begin(), issue.nodes().end());
    const std::string names = diagnosis::NodesOf(diagnosis, issue);
    auto same = std::ranges::find(of_nodes, names, [](const auto& it) { return it.first; });
    if (same == of_nodes.end()) same = of_nodes.insert(same, {names, {}});
    same->second.push_back(&issue);
  }
  std::string text;
  for (const auto& [names, issues] : of_nodes) {
    text += "  " + names + ":\n";
    for (size_t i = 0; i < std::min(issues.size(), kMaxIssuesShown); ++i) {
      text += CauseAndRemedy(issues[i]->what(), issues[i]->remedy());
    }
    if (issues.size() > kMaxIssuesShown) text += "    and more\n";
  }
  if (failed.empty()) return "";
  text.pop_back();  // the last line feed
  const std::string which =
      nodes == 1 ? "the node"
                 : std::to_string(failed.size()) + " of " + std::to_string(nodes) + " nodes";
  const char* const what = attempt == 0 ? "no rank was started" : "the restart failed";
  return std::string(what) + ", because " + which + " cannot run the job:\n" + text;
}

int LaunchExitCode(const std::vector<launch::LaunchedNode>& nodes) {
  int code = 0;
  for (const launch::LaunchedNode& node : nodes) {
    if (!node.status.ok()) return kExitCannotLaunch;
    for (const v1::PrepareIssue& issue : node.prepared.issues()) {
      if (issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND ||
          issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS) {
        code = std::max(code, kExitNotFound);
      } else if (issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NOT_EXECUTABLE) {
        code = std::max(code, kExitNotExecutable);
      } else {
        return kExitCannotLaunch;
      }
    }
  }
  return code;
}

std::vector<std::string> WarningsOf(const Attempt& attempt,
                                    const std::vector<launch::LaunchedNode>& nodes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> warnings;
  for (const launch::LaunchedNode& node : nodes) {
    for (const std::string& warning : node.prepared.warnings()) {
      auto same = std::ranges::find(warnings, warning, [](const auto& it) { return it.first; });
      if (same == warnings.end()) same = warnings.insert(same, {warning, {}});
      same->second.push_back(attempt.member_plan(node.node_rank).address());
    }
  }
  std::vector<std::string> text;
  text.reserve(warnings.size());
  for (const auto& [warning, addresses] : warnings) {
    text.push_back(base::AFewOf(addresses) + ": " + warning);
  }
  return text;
}

std::string BusyDevices(const Attempt& attempt, const std::vector<launch::LaunchedNode>& nodes) {
  diagnosis::Evidence evidence = EvidenceOf(attempt.plan(), nodes);
  evidence.probe.set_device_users(true);
  evidence.cpus_can_be_busy = true;
  const v1::Diagnosis diagnosis = diagnosis::DiagnoseDevices(evidence);
  if (diagnosis.issues().empty()) return "";
  const v1::DiagnosedIssue& first = diagnosis.issues(0);
  const int more = diagnosis.issues_size() - 1;
  return base::Printable(diagnosis::NodesOf(diagnosis, first) + ": " + first.what()) +
         (more > 0 ? "; " + base::Count(static_cast<size_t>(more), "more issue") : "");
}

}  // namespace autodist::chief
