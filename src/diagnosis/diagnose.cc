#include "diagnosis/diagnose.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/utf8.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

constexpr size_t kMaxIssueText = 8 << 10;  // bytes
constexpr std::string_view kAnyNode = "NODE";

// Replaces the node's name or address by NODE, so that texts about different nodes can be compared.
std::string WithoutName(const std::string& text, const std::string& name) {
  if (name.empty()) return text;
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t after = at + name.size();
    if (at < done || (at > 0 && in_word(text[at - 1])) ||
        (after < text.size() && in_word(text[after]))) {
      continue;
    }
    result.append(text, done, at - done).append(kAnyNode);
    done = after;
  }
  return result.append(text, done);
}

}  // namespace

void IssueList::Add(v1::Check check, v1::CheckResult result, uint32_t node,
                    const std::string& found, const std::string& remedy) {
  Checked(check, node);
  const std::string what = base::ToUtf8(found, kMaxIssueText);
  const v1::NodePlan& plan = PlanOf(evidence_, node);
  const auto of_any = [&](std::string text) {
    for (const std::string& name :
         {plan.address(), plan.data_address(), plan.reach().ssh().address()}) {
      text = WithoutName(text, name);
    }
    return text;
  };
  const std::tuple same_for_all(check, result, of_any(what), of_any(remedy));
  const auto [same, is_new] = index_.try_emplace(same_for_all, issues_.size());
  if (is_new) {
    AddIssue(check, result, {node}, what, remedy);
    return;
  }
  v1::DiagnosedIssue& issue = issues_[same->second];
  const bool reported = std::ranges::count(issue.nodes(), node) > 0;
  if (reported && issue.what() == what) return;
  if (issue.what() != what) issue.set_what(std::get<2>(same_for_all));
  if (issue.remedy() != remedy) issue.set_remedy(std::get<3>(same_for_all));
  if (!reported) issue.add_nodes(node);
}

void IssueList::AddForAll(v1::Check check, v1::CheckResult result, const std::set<uint32_t>& nodes,
                          const std::string& what, const std::string& remedy) {
  for (const uint32_t node : nodes) Checked(check, node);
  AddIssue(check, result, nodes, what, remedy);
}

void IssueList::AddIssue(v1::Check check, v1::CheckResult result, const std::set<uint32_t>& nodes,
                         const std::string& what, const std::string& remedy) {
  v1::DiagnosedIssue& issue = issues_.emplace_back();
  issue.set_check(check);
  issue.set_result(result);
  for (const uint32_t node : nodes) issue.add_nodes(node);
  issue.set_what(what);
  issue.set_remedy(remedy);
}

bool IssueList::HasBad(v1::Check check, uint32_t node) const {
  return std::ranges::any_of(issues_, [&](const v1::DiagnosedIssue& issue) {
    return issue.check() == check && issue.result() == v1::CHECK_RESULT_BAD &&
           std::ranges::count(issue.nodes(), node) > 0;
  });
}

v1::Diagnosis IssueList::Take() {
  v1::Diagnosis diagnosis;
  const auto result_of = [&](v1::Check check, uint32_t node) {
    v1::CheckResult worst =
        checked_.contains({check, node}) ? v1::CHECK_RESULT_GOOD : v1::CHECK_RESULT_NOT_CHECKED;
    for (const v1::DiagnosedIssue& issue : issues_) {
      if (issue.check() != check || std::ranges::count(issue.nodes(), node) == 0) continue;
      if (worst != v1::CHECK_RESULT_BAD) worst = issue.result();
    }
    return worst;
  };
  for (uint32_t node = 0; node < evidence_.nodes.size(); ++node) {
    v1::NodeChecks& checks = *diagnosis.add_nodes();
    checks.set_address(NameOf(evidence_, node));
    for (int check = v1::CHECK_LOGIN; check <= v1::Check_MAX; ++check) {
      v1::CheckOutcome& outcome = *checks.add_checks();
      outcome.set_check(static_cast<v1::Check>(check));
      outcome.set_result(result_of(outcome.check(), node));
    }
  }
  std::ranges::stable_sort(issues_, [](const v1::DiagnosedIssue& a, const v1::DiagnosedIssue& b) {
    return a.result() > b.result();
  });
  for (v1::DiagnosedIssue& issue : issues_) *diagnosis.add_issues() = std::move(issue);
  return diagnosis;
}

bool IsInContainer(const Evidence& evidence, uint32_t node) {
  const v1::Reach& reach = PlanOf(evidence, node).reach();
  return reach.has_program() || reach.ssh().has_container();
}

std::vector<uint32_t> MachinesOf(const Evidence& evidence) {
  std::vector<uint32_t> machines(evidence.nodes.size());
  std::map<std::string, uint32_t> first;
  for (uint32_t node = 0; node < machines.size(); ++node) {
    machines[node] = node;
    if (!evidence.nodes[node].reached.ok() || IsInContainer(evidence, node)) continue;
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    if (facts.machine().empty()) continue;
    std::set<std::string> addresses;
    for (const v1::InterfaceFact& interface : facts.interfaces()) {
      addresses.insert(interface.address());
    }
    std::string identity = facts.machine() + "\n" + facts.hostname();
    for (const std::string& address : addresses) identity += "\n" + address;
    machines[node] = first.emplace(identity, node).first->second;
  }
  return machines;
}

std::vector<uint32_t> ReachedNodes(const Evidence& evidence) {
  std::vector<uint32_t> reached;
  for (uint32_t node = 0; node < evidence.nodes.size(); ++node) {
    if (evidence.nodes[node].reached.ok()) reached.push_back(node);
  }
  return reached;
}

const v1::NodePlan& PlanOf(const Evidence& evidence, uint32_t node) {
  return evidence.plan->nodes(static_cast<int>(node));
}

const v1::NodeInfo& FactsOf(const Evidence& evidence, uint32_t node) {
  return evidence.nodes[node].prepared.facts();
}

std::string NameOf(const Evidence& evidence, uint32_t node) {
  return PlanOf(evidence, node).address();
}

v1::Diagnosis DiagnoseLaunch(const Evidence& evidence) {
  IssueList issues(evidence);
  CheckLogins(evidence, issues);
  CheckPrepared(evidence, issues);
  return issues.Take();
}

v1::Diagnosis DiagnoseDevices(const Evidence& evidence) {
  IssueList issues(evidence);
  CheckDeviceUsers(evidence, issues);
  return issues.Take();
}

v1::Diagnosis Diagnose(const Evidence& evidence) {
  IssueList issues(evidence);
  for (const auto check :
       {CheckLogins,    CheckMachines,    CheckAddresses,     CheckRankNetworks, CheckPrepared,
        CheckFiles,     CheckNeeds,       CheckActivations,   CheckPythons,      CheckPrograms,
        CheckGpus,      CheckDeviceUsers, CheckHealth,        CheckDrivers,      CheckNetwork,
        CheckHostNames, CheckClocks,      CheckDisks,         CheckLogs,         CheckLimits,
        CheckShared,    CheckVariables,   CheckChiefVariables}) {
    check(evidence, issues);
  }
  v1::Diagnosis diagnosis = issues.Take();
  std::vector<uint32_t> latencies;
  for (const PortTrial& trial : evidence.trials) {
    if (trial.outcome.error().empty()) latencies.push_back(trial.outcome.latency_us());
  }
  std::ranges::sort(latencies);
  if (!latencies.empty()) {
    diagnosis.set_median_latency_us(latencies[latencies.size() / 2]);
    diagnosis.set_largest_latency_us(latencies.back());
  }
  return diagnosis;
}

bool IsBad(const v1::Diagnosis& diagnosis) {
  return std::ranges::any_of(diagnosis.issues(), [](const v1::DiagnosedIssue& issue) {
    return issue.result() == v1::CHECK_RESULT_BAD;
  });
}

}  // namespace autodist::diagnosis
