#include "diagnosis/diagnosis_text.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstdio>

#include "base/quantity.h"
#include "base/utf8.h"
#include "diagnosis/burn_checks.h"
#include "json/plain_json.h"

namespace autodist::diagnosis {
namespace {

// "venv" for CHECK_VENV, as in JSON.
std::string ColumnOf(v1::Check check) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::Check_Name(check), "CHECK_"));
}

std::string SymbolOf(v1::CheckResult result, bool colour) {
  const char* symbol = "–";
  const char* code = "0";
  if (result == v1::CHECK_RESULT_GOOD) {
    symbol = "✓";
    code = "32";  // green
  } else if (result == v1::CHECK_RESULT_WARNING) {
    symbol = "!";
    code = "33";  // yellow
  } else if (result == v1::CHECK_RESULT_BAD) {
    symbol = "✗";
    code = "31";  // red
  }
  return colour ? std::string("\033[") + code + "m" + symbol + "\033[0m" : symbol;
}

std::string Table(const v1::Diagnosis& diagnosis, bool colour) {
  size_t width = 4;
  for (const v1::NodeChecks& node : diagnosis.nodes()) {
    width = std::max(width, node.address().size());
  }
  std::string text = "node" + std::string(width - 4, ' ');
  if (diagnosis.nodes().empty()) return "";
  for (const v1::CheckOutcome& check : diagnosis.nodes(0).checks()) {
    text += "  " + ColumnOf(check.check());
  }
  text += "\n";
  for (const v1::NodeChecks& node : diagnosis.nodes()) {
    text += node.address() + std::string(width - node.address().size(), ' ');
    size_t blanks = 0;  // pending, so that no line ends with blanks
    for (const v1::CheckOutcome& check : node.checks()) {
      text += std::string(blanks + 2, ' ') + SymbolOf(check.result(), colour);
      blanks = ColumnOf(check.check()).size() - 1;
    }
    text += "\n";
  }
  return text;
}

std::string Indented(const std::string& text) {
  return absl::StrReplaceAll(base::PrintableLines(text), {{"\n", "\n    "}});
}

std::string IssueAsText(const v1::Diagnosis& diagnosis, const v1::DiagnosedIssue& issue,
                        bool colour) {
  const bool bad = issue.result() == v1::CHECK_RESULT_BAD;
  std::string text = SymbolOf(issue.result(), colour) + " " + NodesOf(diagnosis, issue) + ": " +
                     ColumnOf(issue.check()) + (bad ? "" : " (warning)") + "\n    " +
                     Indented(issue.what()) + "\n";
  if (!issue.remedy().empty()) text += "    hint: " + Indented(issue.remedy()) + "\n";
  return text;
}

}  // namespace

std::string NodesOf(const v1::Diagnosis& diagnosis, const v1::DiagnosedIssue& issue) {
  constexpr int kMaxWithoutCount = 8;
  constexpr int kNamedWithCount = 3;
  const bool count = issue.nodes_size() > kMaxWithoutCount;
  std::string names;
  for (int i = 0; i < (count ? kNamedWithCount : issue.nodes_size()); ++i) {
    names +=
        (names.empty() ? "" : ", ") + diagnosis.nodes(static_cast<int>(issue.nodes(i))).address();
  }
  if (names.empty()) return "this machine";
  if (!count) return names;
  const std::string all = std::to_string(diagnosis.nodes_size()) + " nodes";
  if (issue.nodes_size() == diagnosis.nodes_size()) return "all " + all;
  return std::to_string(issue.nodes_size()) + " of " + all + " (" + names + " and " +
         std::to_string(issue.nodes_size() - kNamedWithCount) + " others)";
}

std::string DiagnosisAsText(const v1::Diagnosis& diagnosis, bool colour) {
  std::string text = Table(diagnosis, colour);
  if (diagnosis.largest_latency_us() > 0) {
    char latency[120];
    std::snprintf(latency, sizeof latency,
                  "\nto connect from node to node takes %.2f ms (median), %.2f ms (worst)\n",
                  diagnosis.median_latency_us() / 1000.0, diagnosis.largest_latency_us() / 1000.0);
    text += latency;
    if (diagnosis.mesh_sampled()) {
      text += "each node tried a dozen others; --full-mesh tries all\n";
    }
  }
  const std::string load = DevicesAsText(diagnosis) + LinksAsText(diagnosis);
  if (!load.empty()) text += "\n" + load;
  for (const v1::DiagnosedIssue& issue : diagnosis.issues()) {
    text += "\n" + IssueAsText(diagnosis, issue, colour);
  }
  const auto bad = std::ranges::count_if(diagnosis.issues(), [](const v1::DiagnosedIssue& issue) {
    return issue.result() == v1::CHECK_RESULT_BAD;
  });
  const auto warnings = static_cast<size_t>(diagnosis.issues_size() - bad);
  text += "\n" + (bad == 0 ? "a run would start" : base::Count(static_cast<size_t>(bad), "issue"));
  if (warnings > 0) text += ", " + base::Count(warnings, "warning");
  return text + "\n";
}

std::string DiagnosisAsJson(const v1::Diagnosis& diagnosis) {
  return json::PlainJson(diagnosis, {.indented = true}) + "\n";
}

std::string IssuesAsText(const v1::Diagnosis& diagnosis, v1::CheckResult result) {
  std::string text;
  for (const v1::DiagnosedIssue& issue : diagnosis.issues()) {
    if (issue.result() == result) text += IssueAsText(diagnosis, issue, false);
  }
  if (!text.empty()) text.pop_back();  // the last line feed
  return text;
}

}  // namespace autodist::diagnosis
