#include "chief/start/prepared_text.h"

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "chief/checks/preflight.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/diagnosis_text.h"

namespace autodist::chief {
namespace {

// "a", "a, b", "a, b and 7 others".
std::string AFewOf(const std::vector<std::string>& addresses) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, addresses.size()); ++i) {
    text += (i == 0 ? "" : ", ") + addresses[i];
  }
  if (addresses.size() <= kNamed) return text;
  return text + " and " + base::Count(addresses.size() - kNamed, "other");
}

}  // namespace

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
    text.push_back(AFewOf(addresses) + ": " + warning);
  }
  return text;
}

std::string BusyDevices(const Attempt& attempt, const std::vector<launch::LaunchedNode>& nodes) {
  diagnosis::Evidence evidence = EvidenceOf(attempt.plan(), nodes);
  evidence.examination.set_device_users(true);
  evidence.cpus_can_be_busy = true;
  const v1::Diagnosis diagnosis = diagnosis::DiagnoseDevices(evidence);
  if (diagnosis.findings().empty()) return "";
  const v1::Finding& first = diagnosis.findings(0);
  const int more = diagnosis.findings_size() - 1;
  return base::Printable(diagnosis::NodesOf(diagnosis, first) + ": " + first.what()) +
         (more > 0 ? ", and " + std::to_string(more) + " more" : "");
}

}  // namespace autodist::chief
