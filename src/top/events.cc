// Draws what happened: the issues with their cost and evidence, the whole job in one row with
// marks, and the events.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/split.h"
#include "snapshot/events.h"
#include "snapshot/state_names.h"
#include "top/layout.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

struct WholeJob {
  int64_t begin_ms;
  int64_t end_ms;
  int columns;

  int ColumnOf(int64_t time_ms) const {
    const double share = static_cast<double>(time_ms - begin_ms) /
                         static_cast<double>(std::max<int64_t>(end_ms - begin_ms, 1));
    return 1 + static_cast<int>(std::clamp(share, 0.0, 1.0) * (columns - 1));
  }
};

// About ten labels, at whole hours or minutes.
void DrawTimes(const Area& area, int row, const WholeJob& whole) {
  constexpr int64_t kMinute = 60'000;
  constexpr int kMost = 10;
  int64_t step = 7 * 24 * 60 * kMinute;
  for (const int64_t minutes : {1440, 720, 360, 180, 60, 30, 15, 5, 1}) {
    if ((whole.end_ms - whole.begin_ms) / (minutes * kMinute) <= kMost) step = minutes * kMinute;
  }
  for (int64_t at = (whole.begin_ms / step + 1) * step; at < whole.end_ms; at += step) {
    const int column = whole.ColumnOf(at);
    if (column + 6 < area.columns()) area.Put(row, column, ClockMinute(at), kLabel);
  }
}

constexpr size_t kMaxIssueRows = 3;  // no further issue begins below; each has at least one row

struct IssueLine {
  std::string lead;  // glyph, or name of the evidence
  std::string text;
  std::string source;
  Style style;
  bool evidence = false;
};

void LimitRows(std::vector<std::string>& rows, size_t limit) {
  if (rows.size() <= limit) return;
  rows.resize(limit);
  rows.back() += " …";
}

void AddIssue(std::vector<IssueLine>& lines, const v1::Issue& issue, bool first,
              const ViewState& view, int columns) {
  const v1::Mark mark = snapshot::MarkOf(issue.kind());
  std::string glyph;
  AppendCharacter(glyph, GlyphOf(mark));
  Style style = StyleOf(mark);
  style.bold = first;
  const std::string sentence = issue.what() + (issue.cost().empty() ? "" : " " + issue.cost());
  std::vector<std::string> rows = Wrapped(sentence, columns - 5);
  LimitRows(rows, first ? 3 : 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    lines.push_back({i == 0 ? glyph : " ", rows[i], "", style});
  }
  if (!view.evidence) return;
  for (const v1::Evidence& evidence : issue.evidence()) {
    lines.push_back({(evidence.against() ? "not " : "") + evidence.what(), evidence.value(),
                     evidence.source(), kInk, true});
  }
}

// Adds a text of several lines.
void AddText(std::vector<IssueLine>& lines, const std::string& text, v1::Mark mark, int columns) {
  constexpr size_t kMaxRows = 4;
  std::vector<std::string> rows;
  for (const std::string_view line : base::Lines(text)) {
    for (std::string& row : Wrapped(std::string(line), columns - 5)) rows.push_back(std::move(row));
  }
  LimitRows(rows, kMaxRows);
  std::string glyph;
  AppendCharacter(glyph, GlyphOf(mark));
  for (size_t i = 0; i < rows.size(); ++i) {
    lines.push_back({i == 0 ? glyph : " ", rows[i], "", StyleOf(mark)});
  }
}

std::vector<IssueLine> IssueLines(const Scene& scene, int columns) {
  std::vector<IssueLine> lines;
  // First, because the issues below are then as last known.
  if (const Status& why = scene.view.no_answer; !why.ok()) {
    AddText(lines, Message(why), v1::MARK_DISCONNECTED, columns);
    if (!Remedy(why).empty()) AddText(lines, Remedy(why), v1::MARK_NONE, columns);
  }
  const auto& issues = scene.snapshot.issues();
  const size_t begin = lines.size();
  for (const v1::Issue& issue : issues) {
    if (lines.size() - begin >= kMaxIssueRows && !scene.view.evidence) break;
    AddIssue(lines, issue, lines.size() == begin, scene.view, columns);
  }
  const v1::JobStatus& job = scene.snapshot.job();
  // The report of a job that ended without a known issue.
  if (issues.empty() && job.exit_code() != 0) {
    AddText(lines, job.report(), v1::MARK_FAILED, columns);
  }
  return lines;
}

bool HasEvidence(const Scene& scene) {
  return std::ranges::any_of(scene.snapshot.issues(),
                             [](const v1::Issue& issue) { return issue.evidence_size() > 0; });
}

std::string EventText(const v1::JobEvent& event) {
  std::string text = event.node().empty() ? "" : event.node() + " ";
  text += snapshot::PhaseText(event);
  if (event.has_rank()) text += "rank " + std::to_string(event.rank());
  // A report has several lines.
  std::string_view what = base::FirstLine(event.what());
  // A warning about a node also begins with its name.
  const std::string of_node = event.node() + ": ";
  if (!event.node().empty() && what.starts_with(of_node)) what.remove_prefix(of_node.size());
  while (text.ends_with(' ')) text.pop_back();
  if (!what.empty()) (text += text.empty() ? "" : ": ") += what;
  return text;
}

Style EventStyle(v1::Mark mark) { return mark == v1::MARK_NONE ? kAccent : StyleOf(mark); }

uint32_t EventGlyph(v1::Mark mark) { return mark == v1::MARK_NONE ? U'●' : GlyphOf(mark); }

// Draws as many as fit, newest at the right.
void DrawInOneRow(const Area& area, const Scene& scene) {
  const auto& events = scene.snapshot.events();
  std::vector<int> shown;
  int width = 1;
  for (int i = events.size() - 1; i >= 0; --i) {
    const int needed = 5 + 3 + WidthOf(EventText(events[i])) + 3;
    if (!shown.empty() && width + needed > area.columns()) break;
    width += needed;
    shown.push_back(i);
  }
  int column = 1;
  std::ranges::reverse(shown);
  for (const int i : shown) {
    const v1::JobEvent& event = events[i];
    const v1::Mark mark = snapshot::MarkOf(event);
    column = area.Put(0, column, ClockMinute(event.time_ms()) + " ", kLabel);
    area.Set(0, column, EventGlyph(mark), EventStyle(mark));
    column = area.Put(0, column + 2, EventText(event)) + 3;
  }
}

}  // namespace

int TimelineRows(const Scene& scene) { return scene.snapshot.job().started_ms() > 0 ? 2 : 0; }

void DrawTimeline(const Area& area, const Scene& scene) {
  const v1::JobStatus& job = scene.snapshot.job();
  if (area.rows() < 1 || job.started_ms() <= 0) return;
  const WholeJob whole{job.started_ms(), scene.end_ms(), area.columns() - 2};
  for (int column = 1; column <= whole.columns; ++column) area.Set(0, column, U'━', kAccent);
  for (auto it = scene.snapshot.issues().rbegin(); it != scene.snapshot.issues().rend(); ++it) {
    if (it->since_ms() <= 0) continue;
    const v1::Mark mark = snapshot::MarkOf(it->kind());
    const int start = whole.ColumnOf(it->since_ms());
    for (int column = start; column <= whole.columns; ++column) {
      area.Set(0, column, U'═', StyleOf(mark));
    }
    area.Set(0, start, GlyphOf(mark), StyleOf(mark));
  }
  for (const v1::JobEvent& event : scene.snapshot.events()) {
    const v1::Mark mark = snapshot::MarkOf(event);
    if (mark == v1::MARK_NONE || mark == v1::MARK_ENDED) continue;
    area.Set(0, whole.ColumnOf(event.time_ms()), GlyphOf(mark), StyleOf(mark));
  }
  DrawTimes(area, 1, whole);
}

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
  const std::string key = scene.view.evidence ? "e fold" : "e evidence";
  const int last = std::min(area.rows(), static_cast<int>(lines.size())) - 1;
  const IssueLine& line = lines[static_cast<size_t>(std::max(last, 0))];
  if (3 + WidthOf(line.text) + 2 + WidthOf(key) < area.columns()) {
    area.PutRight(last, area.columns() - 1, key, kLabel);
  }
}

void DrawEvents(const Area& area, const Scene& scene) {
  const auto& events = scene.snapshot.events();
  if (area.rows() < 1 || events.empty()) return;
  if (area.rows() == 1) return DrawInOneRow(area, scene);
  area.Put(0, 1, "Events", kLabel);
  for (int row = 1; row < area.rows() && row <= events.size(); ++row) {
    const v1::JobEvent& event = events[events.size() - row];
    const v1::Mark mark = snapshot::MarkOf(event);
    area.Put(row, 1, Clock(event.time_ms()), kLabel);
    area.Set(row, 11, EventGlyph(mark), EventStyle(mark));
    area.PutWithin(row, 13, area.columns() - 1, EventText(event));
  }
}

}  // namespace autodist::top
