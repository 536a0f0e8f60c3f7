#include "cli/why_text.h"

#include "base/json_quote.h"
#include "base/utf8.h"
#include "json/plain_json.h"

namespace autodist::cli {
namespace {

constexpr int kExitWrong = 3;
constexpr int kExitCannotTell = 4;

const char* Name(why::Diagnosis::Kind kind) {
  if (kind == why::Diagnosis::Kind::kUnclear) return "unknown";
  return kind == why::Diagnosis::Kind::kWell ? "ok" : "issue";
}

}  // namespace

int ExitCodeOf(const why::Diagnosis& diagnosis) {
  if (diagnosis.kind == why::Diagnosis::Kind::kUnclear) return kExitCannotTell;
  return diagnosis.kind == why::Diagnosis::Kind::kWell ? 0 : kExitWrong;
}

std::string WhyText(const why::Diagnosis& diagnosis) {
  const v1::Issue& issue = diagnosis.issue;
  std::string text = base::Printable(issue.what()) + "\n";
  if (!issue.cost().empty()) text += "  " + base::Printable(issue.cost()) + "\n";
  for (const bool against : {false, true}) {
    for (const v1::Evidence& one : issue.evidence()) {
      if (one.against() != against) continue;
      text += std::string(against ? "  ruled out: " : "  ") + base::Printable(one.what()) + ": " +
              base::Printable(one.value()) + " [" + base::Printable(one.source()) + "]\n";
    }
  }
  return text;
}

std::string WhyJson(const std::string& job_id, const why::Diagnosis& diagnosis) {
  return "{\"job_id\":" + base::JsonQuoted(job_id) +
         ",\"diagnosis\":" + base::JsonQuoted(Name(diagnosis.kind)) +
         ",\"issue\":" + json::PlainJson(diagnosis.issue) + "}\n";
}

}  // namespace autodist::cli
