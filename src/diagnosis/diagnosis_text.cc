#include "diagnosis/diagnosis_text.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdio>

#include "base/count.h"
#include "base/utf8.h"

namespace autodist::diagnosis {
namespace {

constexpr char kRed[] = "\033[31m";
constexpr char kYellow[] = "\033[33m";
constexpr char kGreen[] = "\033[32m";
constexpr char kPlain[] = "\033[0m";

const char* ColumnOf(v1::Check check) {
  static constexpr const char* kColumns[] = {
      "",     "login",   "address", "folder", "files", "venv",   "program", "python",
      "gpus", "network", "name",    "clock",  "disk",  "limits", "shared",  "variables"};
  static_assert(std::size(kColumns) == v1::Check_ARRAYSIZE);
  return kColumns[check];
}

const char* SymbolOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_GOOD:
      return "✓";
    case v1::VERDICT_WARNING:
      return "!";
    case v1::VERDICT_BAD:
      return "✗";
    default:
      return "–";
  }
}

const char* ColourOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_GOOD:
      return kGreen;
    case v1::VERDICT_WARNING:
      return kYellow;
    case v1::VERDICT_BAD:
      return kRed;
    default:
      return kPlain;
  }
}

std::string Table(const v1::Diagnosis& diagnosis, bool colour) {
  size_t width = 4;
  for (const v1::NodeVerdicts& node : diagnosis.nodes()) {
    width = std::max(width, node.address().size());
  }
  std::string text = "node" + std::string(width - 4, ' ');
  if (diagnosis.nodes().empty()) return "";
  for (const v1::CheckVerdict& check : diagnosis.nodes(0).checks()) {
    text += std::string("  ") + ColumnOf(check.check());
  }
  text += "\n";
  for (const v1::NodeVerdicts& node : diagnosis.nodes()) {
    text += node.address() + std::string(width - node.address().size(), ' ');
    size_t blanks = 0;  // not yet written, so that no line ends with them
    for (const v1::CheckVerdict& check : node.checks()) {
      const std::string symbol = SymbolOf(check.verdict());
      text += std::string(blanks + 2, ' ') +
              (colour ? ColourOf(check.verdict()) + symbol + kPlain : symbol);
      blanks = std::string_view(ColumnOf(check.check())).size() - 1;
    }
    text += "\n";
  }
  return text;
}

std::string Indented(const std::string& text) {
  std::string indented;
  for (const char c : base::PrintableLines(text)) {
    indented += c;
    if (c == '\n') indented += "    ";
  }
  return indented;
}

// "10.0.0.1, 10.0.0.2 and 61 more"
std::string NodesOf(const v1::Diagnosis& diagnosis, const v1::Finding& finding) {
  constexpr int kMostNamed = 8;
  std::string text;
  for (int i = 0; i < std::min(finding.nodes_size(), kMostNamed); ++i) {
    text +=
        (text.empty() ? "" : ", ") + diagnosis.nodes(static_cast<int>(finding.nodes(i))).address();
  }
  const int more = finding.nodes_size() - kMostNamed;
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

std::string FindingAsText(const v1::Diagnosis& diagnosis, const v1::Finding& finding, bool colour) {
  const bool bad = finding.verdict() == v1::VERDICT_BAD;
  const std::string symbol = SymbolOf(finding.verdict());
  std::string text = (colour ? ColourOf(finding.verdict()) + symbol + kPlain : symbol) + " " +
                     NodesOf(diagnosis, finding) + ": " + ColumnOf(finding.check()) +
                     (bad ? "" : " (warning)") + "\n    " + Indented(finding.what()) + "\n";
  if (!finding.remedy().empty()) text += "    to do: " + Indented(finding.remedy()) + "\n";
  return text;
}

}  // namespace

std::string DiagnosisAsText(const v1::Diagnosis& diagnosis, bool colour) {
  std::string text = Table(diagnosis, colour);
  if (diagnosis.largest_latency_us() > 0) {
    char latency[120];
    std::snprintf(latency, sizeof latency,
                  "\nto connect from node to node takes %.2f ms (median), %.2f ms (worst)\n",
                  diagnosis.median_latency_us() / 1000.0, diagnosis.largest_latency_us() / 1000.0);
    text += latency;
  }
  for (const v1::Finding& finding : diagnosis.findings()) {
    text += "\n" + FindingAsText(diagnosis, finding, colour);
  }
  const auto bad = std::ranges::count_if(diagnosis.findings(), [](const v1::Finding& finding) {
    return finding.verdict() == v1::VERDICT_BAD;
  });
  const auto warnings = static_cast<size_t>(diagnosis.findings_size() - bad);
  text +=
      "\n" + (bad == 0 ? "a run would start" : base::Count(static_cast<size_t>(bad), "problem"));
  if (warnings > 0) text += ", " + base::Count(warnings, "warning");
  return text + "\n";
}

std::string DiagnosisAsJson(const v1::Diagnosis& diagnosis) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string json;
  // Cannot fail: every field of the message has a JSON form.
  (void)google::protobuf::util::MessageToJsonString(diagnosis, &json, options).ok();
  return json;
}

std::string FindingsAsText(const v1::Diagnosis& diagnosis, v1::Verdict verdict) {
  std::string text;
  for (const v1::Finding& finding : diagnosis.findings()) {
    if (finding.verdict() == verdict) text += FindingAsText(diagnosis, finding, false);
  }
  if (!text.empty()) text.pop_back();  // the last line feed
  return text;
}

}  // namespace autodist::diagnosis
