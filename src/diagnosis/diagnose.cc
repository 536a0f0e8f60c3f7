#include "diagnosis/diagnose.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/utf8.h"
#include "diagnosis/findings.h"

namespace autodist::diagnosis {
namespace {

constexpr size_t kLongestFinding = 8 << 10;  // bytes
constexpr std::string_view kAnyNode = "NODE";

// With NODE in the place of a node's name or address, so that what is said of one node can be
// compared with what is said of another.
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

void Findings::Add(v1::Check check, v1::Verdict verdict, uint32_t node, const std::string& found,
                   const std::string& remedy) {
  Checked(check, node);
  const std::string what = base::ToUtf8(found, kLongestFinding);
  const v1::NodePlan& plan = PlanOf(evidence_, node);
  const auto of_any = [&](std::string text) {
    for (const std::string& name :
         {plan.address(), plan.data_address(), plan.reach().ssh().address()}) {
      text = WithoutName(text, name);
    }
    return text;
  };
  const std::tuple same_for_all(check, verdict, of_any(what), of_any(remedy));
  const auto [same, is_new] = index_.try_emplace(same_for_all, findings_.size());
  if (is_new) {
    AddFinding(check, verdict, {node}, what, remedy);
    return;
  }
  v1::Finding& finding = findings_[same->second];
  const bool told = std::ranges::count(finding.nodes(), node) > 0;
  if (told && finding.what() == what) return;
  if (finding.what() != what) finding.set_what(std::get<2>(same_for_all));
  if (finding.remedy() != remedy) finding.set_remedy(std::get<3>(same_for_all));
  if (!told) finding.add_nodes(node);
}

void Findings::AddForAll(v1::Check check, v1::Verdict verdict, const std::set<uint32_t>& nodes,
                         const std::string& what, const std::string& remedy) {
  for (const uint32_t node : nodes) Checked(check, node);
  AddFinding(check, verdict, nodes, what, remedy);
}

void Findings::AddFinding(v1::Check check, v1::Verdict verdict, const std::set<uint32_t>& nodes,
                          const std::string& what, const std::string& remedy) {
  v1::Finding& finding = findings_.emplace_back();
  finding.set_check(check);
  finding.set_verdict(verdict);
  for (const uint32_t node : nodes) finding.add_nodes(node);
  finding.set_what(what);
  finding.set_remedy(remedy);
}

bool Findings::HasBad(v1::Check check, uint32_t node) const {
  return std::ranges::any_of(findings_, [&](const v1::Finding& finding) {
    return finding.check() == check && finding.verdict() == v1::VERDICT_BAD &&
           std::ranges::count(finding.nodes(), node) > 0;
  });
}

v1::Diagnosis Findings::Take() {
  v1::Diagnosis diagnosis;
  const auto verdict_of = [&](v1::Check check, uint32_t node) {
    v1::Verdict worst =
        checked_.contains({check, node}) ? v1::VERDICT_GOOD : v1::VERDICT_NOT_CHECKED;
    for (const v1::Finding& finding : findings_) {
      if (finding.check() != check || std::ranges::count(finding.nodes(), node) == 0) continue;
      if (worst != v1::VERDICT_BAD) worst = finding.verdict();
    }
    return worst;
  };
  for (uint32_t node = 0; node < evidence_.nodes.size(); ++node) {
    v1::NodeVerdicts& verdicts = *diagnosis.add_nodes();
    verdicts.set_address(NameOf(evidence_, node));
    for (int check = v1::CHECK_LOGIN; check <= v1::Check_MAX; ++check) {
      v1::CheckVerdict& verdict = *verdicts.add_checks();
      verdict.set_check(static_cast<v1::Check>(check));
      verdict.set_verdict(verdict_of(verdict.check(), node));
    }
  }
  std::ranges::stable_sort(findings_, [](const v1::Finding& a, const v1::Finding& b) {
    return a.verdict() > b.verdict();
  });
  for (v1::Finding& finding : findings_) *diagnosis.add_findings() = std::move(finding);
  return diagnosis;
}

std::vector<uint32_t> MachinesOf(const Evidence& evidence) {
  std::vector<uint32_t> machines(evidence.nodes.size());
  std::map<std::string, uint32_t> first;
  for (uint32_t node = 0; node < machines.size(); ++node) {
    machines[node] = node;
    const v1::Reach& reach = PlanOf(evidence, node).reach();
    if (!evidence.nodes[node].reached.ok() || reach.has_program() || reach.ssh().has_container()) {
      continue;
    }
    const v1::NodeFacts& facts = FactsOf(evidence, node);
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

const v1::NodeFacts& FactsOf(const Evidence& evidence, uint32_t node) {
  return evidence.nodes[node].prepared.facts();
}

std::string NameOf(const Evidence& evidence, uint32_t node) {
  return PlanOf(evidence, node).address();
}

v1::Diagnosis DiagnoseLaunch(const Evidence& evidence) {
  Findings findings(evidence);
  CheckLogins(evidence, findings);
  CheckPrepared(evidence, findings);
  return findings.Take();
}

v1::Diagnosis DiagnoseDevices(const Evidence& evidence) {
  Findings findings(evidence);
  CheckDeviceUsers(evidence, findings);
  return findings.Take();
}

v1::Diagnosis Diagnose(const Evidence& evidence) {
  Findings findings(evidence);
  for (const auto check :
       {CheckLogins,        CheckMachines,    CheckAddresses, CheckRankNetworks, CheckPrepared,
        CheckFiles,         CheckActivations, CheckPythons,   CheckPrograms,     CheckGpus,
        CheckDeviceUsers,   CheckDrivers,     CheckNetwork,   CheckHostNames,    CheckClocks,
        CheckDisks,         CheckLogs,        CheckLimits,    CheckShared,       CheckVariables,
        CheckChiefVariables}) {
    check(evidence, findings);
  }
  v1::Diagnosis diagnosis = findings.Take();
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
  return std::ranges::any_of(diagnosis.findings(), [](const v1::Finding& finding) {
    return finding.verdict() == v1::VERDICT_BAD;
  });
}

}  // namespace autodist::diagnosis
