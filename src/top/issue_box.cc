// Draws the issues, worst first, with their cost and evidence.
#include <algorithm>
#include <utility>

#include "base/split.h"
#include "snapshot/state_names.h"
#include "top/layout.h"
#include "top/numbers.h"

namespace autodist::top {
namespace {

constexpr size_t kMaxIssues = 3;

struct IssueLine {
  std::string lead;  // glyph, or name of the evidence
  std::string text;
  std::string source;
  Style style;
  bool evidence = false;
};

void AddIssue(std::vector<IssueLine>& lines, const v1::Issue& issue, bool first,
              const ViewState& view, int columns) {
  const v1::Mark mark = snapshot::MarkOf(issue.kind());
  std::string glyph;
  AppendCharacter(glyph, GlyphOf(mark));
  Style style = StyleOf(mark);
  style.bold = first;
  const std::string sentence = issue.what() + (issue.cost().empty() ? "" : " " + issue.cost());
  std::vector<std::string> rows = Wrapped(sentence, columns - 5);
  const size_t most = first ? 3 : 1;
  if (rows.size() > most) {
    rows.resize(most);
    rows.back() += " …";
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    lines.push_back({i == 0 ? glyph : " ", rows[i], "", style});
  }
  if (!view.evidence) return;
  for (const v1::Evidence& evidence : issue.evidence()) {
    lines.push_back({(evidence.against() ? "not " : "") + evidence.what(), evidence.value(),
                     evidence.source(), kInk, true});
  }
}

// Shows the report of a job that ended without a known issue.
void AddReport(std::vector<IssueLine>& lines, const v1::JobStatus& job, int columns) {
  constexpr size_t kMaxRows = 4;
  std::vector<std::string> rows;
  for (const std::string_view line : base::Lines(job.report())) {
    for (std::string& row : Wrapped(std::string(line), columns - 5)) rows.push_back(std::move(row));
  }
  if (rows.size() > kMaxRows) rows.resize(kMaxRows);
  for (size_t i = 0; i < rows.size(); ++i) {
    lines.push_back({i == 0 ? "✕" : " ", rows[i], "", StyleOf(v1::MARK_FAILED)});
  }
}

std::vector<IssueLine> IssueLines(const Scene& scene, int columns) {
  std::vector<IssueLine> lines;
  const auto& issues = scene.snapshot.issues();
  for (const v1::Issue& issue : issues) {
    if (lines.size() >= kMaxIssues && !scene.view.evidence) break;
    AddIssue(lines, issue, lines.empty(), scene.view, columns);
  }
  const v1::JobStatus& job = scene.snapshot.job();
  if (issues.empty() && job.exit_code() != 0) AddReport(lines, job, columns);
  return lines;
}

bool HasEvidence(const Scene& scene) {
  return std::ranges::any_of(scene.snapshot.issues(),
                             [](const v1::Issue& issue) { return issue.evidence_size() > 0; });
}

}  // namespace

std::vector<std::string> Wrapped(const std::string& text, int columns) {
  std::vector<std::string> rows;
  std::string row;
  for (const std::string_view word : base::Split(text, ' ')) {
    if (!row.empty() && WidthOf(row) + 1 + WidthOf(word) > columns) {
      rows.push_back(std::exchange(row, ""));
    }
    if (!row.empty()) row += ' ';
    row += word;
  }
  if (!row.empty()) rows.push_back(row);
  return rows;
}

int IssueRows(const Scene& scene, int columns) {
  return static_cast<int>(IssueLines(scene, columns).size());
}

void DrawIssues(const Area& area, const Scene& scene) {
  constexpr int kLeadWidth = 15;
  const std::vector<IssueLine> lines = IssueLines(scene, area.columns());
  for (int row = 0; row < std::min(area.rows(), static_cast<int>(lines.size())); ++row) {
    const IssueLine& line = lines[static_cast<size_t>(row)];
    if (!line.evidence) {
      area.Put(row, 1, line.lead, line.style);
      area.Put(row, 3, line.text, line.style);
      continue;
    }
    area.PutWithin(row, 3, 3 + kLeadWidth, line.lead, kLabel);
    const int end = area.Put(row, 4 + kLeadWidth, line.text);
    area.Put(row, end + 2, line.source, kLabel);
  }
  if (!HasEvidence(scene) || lines.empty()) return;
  const std::string key = scene.view.evidence ? "w fold" : "w evidence";
  const int last = std::min(area.rows(), static_cast<int>(lines.size())) - 1;
  const IssueLine& line = lines[static_cast<size_t>(std::max(last, 0))];
  if (3 + WidthOf(line.text) + 2 + WidthOf(key) < area.columns()) {
    area.PutRight(last, area.columns() - 1, key, kLabel);
  }
}

}  // namespace autodist::top
