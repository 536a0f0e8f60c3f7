#include "top/render.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "top/layout.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr int kWide = 160;    // columns: curves beside the grid, a table of nodes
constexpr int kMedium = 110;  // three curves side by side
constexpr int kTall = 30;     // rows: with blank ones between the parts
constexpr int kAll = 1 << 20;
constexpr int kLast = 100;  // gets the remaining rows

// A part of the window, in order from top to bottom. Rows are assigned by importance: first the
// minimum of each part, then additional rows while they last.
struct Part {
  int importance;  // 0: gets its minimum first
  int growth;      // 0: gets additional rows first
  int least;
  int wanted;
  bool gap;  // a blank row above it
  std::function<void(const Area&)> draw;
  int rows = 0;
  bool has_gap = false;
};

void ShareRows(std::vector<Part>& parts, int rows, bool gaps) {
  std::vector<Part*> order;
  order.reserve(parts.size());
  for (Part& part : parts) order.push_back(&part);
  std::ranges::stable_sort(order, {}, &Part::importance);
  for (Part* part : order) {
    if (part->least <= 0 || part->least > rows) continue;
    part->rows = part->least;
    rows -= part->rows;
    if (gaps && part->gap && rows > 0) {
      part->has_gap = true;
      --rows;
    }
  }
  std::ranges::stable_sort(order, {}, &Part::growth);
  for (Part* part : order) {
    if (part->rows == 0) continue;
    const int more = std::clamp(part->wanted - part->rows, 0, rows);
    part->rows += more;
    rows -= more;
  }
}

int EventRows(const Scene& scene, int rows) {
  constexpr int kMaxEvents = 8;
  if (scene.snapshot.events().empty()) return 0;
  return rows < kTall ? 1 : 1 + std::min(scene.snapshot.events_size(), kMaxEvents);
}

// Draws grid and curves side by side.
void DrawGridAndCurves(const Area& area, const Scene& scene, const Grid& grid) {
  constexpr int kGap = 4;
  DrawGrid(area.Columns(0, grid.columns), scene, grid.kind);
  const int start = grid.columns + kGap;
  const int width = area.columns() - start;
  constexpr int kCurve = 34;
  DrawCurves(area.Columns(start, width), scene, std::clamp(width / kCurve, 1, 3));
}

void DrawEventsAndNodes(const Area& area, const Scene& scene) {
  const int half = area.columns() * 2 / 5;
  DrawEvents(area.Columns(0, half), scene);
  DrawNodeTable(area.Columns(half, area.columns() - half), scene);
}

class Layout {
 public:
  Layout(const Scene& scene, int columns, int rows)
      : scene_(scene), columns_(columns), rows_(rows > 0 ? rows : kAll), natural_(rows == 0) {}

  std::vector<Part> Parts() {
    AddTop();
    if (scene_.view.panel.open()) {
      Add(3, 2, kAll, true, [this](const Area& area) { DrawPanel(area, scene_); });
    } else {
      AddMiddle();
    }
    return std::move(parts_);
  }

 private:
  void Add(int importance, int least, int wanted, bool gap, std::function<void(const Area&)> draw) {
    least = std::min(least, wanted);
    parts_.push_back({importance, importance, least, wanted, gap, std::move(draw)});
  }

  void AddTop() {
    Add(0, 1, 1, false, [this](const Area& area) { DrawTitle(area, scene_); });
    const int progress = ProgressRows(scene_);
    Add(1, progress, progress, columns_ >= kWide,
        [this](const Area& area) { DrawProgress(area, scene_); });
    const int diagnosis = IssueRows(scene_, columns_);
    const int least = scene_.view.no_answer.ok() ? 3 : 6;  // the issues are below the failure
    Add(2, least, diagnosis, rows_ >= kTall,
        [this](const Area& area) { DrawIssues(area, scene_); });
    if (columns_ >= kWide && rows_ >= kTall) {
      Add(7, TimelineRows(scene_), TimelineRows(scene_), true,
          [this](const Area& area) { DrawTimeline(area, scene_); });
    }
  }

  void AddMiddle() {
    constexpr int kMinGrid = 5;
    constexpr int kMinRanks = 4;
    constexpr int kMinCurves = 4;
    const int most = natural_ ? kAll : std::max(rows_ * 9 / 20, kMinGrid);
    grid_ = GridFor(scene_, columns_, most);
    const bool curves = CurveCount(scene_) > 0;
    const int beside = columns_ - grid_.columns;
    constexpr int kCurvesBeside = 70;
    const bool together = columns_ >= kWide && curves && beside >= kCurvesBeside &&
                          rows_ >= kTall && scene_.view.large == 0;
    if (together) {
      constexpr int kTwoCurves = 12;
      const int wanted = std::max(grid_.rows, kTwoCurves);
      Add(3, std::min(wanted, most), wanted, true,
          [this](const Area& area) { DrawGridAndCurves(area, scene_, grid_); });
    } else {
      Add(3, std::min(grid_.rows, kMinGrid), grid_.rows, true,
          [this](const Area& area) { DrawGrid(area, scene_, grid_.kind); });
    }
    const int ranks = RankRows(scene_);
    Add(4, kMinRanks, ranks, true, [this](const Area& area) { DrawRanks(area, scene_); });
    parts_.back().growth = kLast;
    if (curves && !together) AddCurves(kMinCurves);
    AddEvents();
  }

  void AddCurves(int least) {
    constexpr int kCurveRows = 6;
    constexpr int kLargeCurve = 14;
    const bool large = scene_.view.large > 0;
    const int wanted = large ? kLargeCurve : rows_ >= kTall ? kCurveRows : least;
    Add(large ? 2 : 5, large ? std::min(rows_ / 3, kLargeCurve) : least, wanted, true,
        [this](const Area& area) { DrawCurves(area, scene_, area.columns() >= kMedium ? 3 : 2); });
  }

  void AddEvents() {
    const int events = EventRows(scene_, rows_);
    if (columns_ < kWide || rows_ < kTall) {
      Add(6, std::min(events, 1), events, rows_ >= kTall,
          [this](const Area& area) { DrawEvents(area, scene_); });
      return;
    }
    const int wanted = std::max(events, NodeTableRows(scene_));
    constexpr int kLeast = 6;
    Add(6, std::min(wanted, kLeast), wanted, true,
        [this](const Area& area) { DrawEventsAndNodes(area, scene_); });
  }

  const Scene& scene_;
  const int columns_;
  const int rows_;
  const bool natural_;
  Grid grid_;
  std::vector<Part> parts_;
};

int NaturalRows(const std::vector<Part>& parts) {
  int rows = 0;
  for (const Part& part : parts) {
    if (part.wanted > 0) rows += part.wanted + (part.gap ? 1 : 0);
  }
  return rows;
}

Frame TooSmall(const ViewState& view) {
  Frame frame(std::max(view.columns, 1), std::max(view.rows, 1));
  const Area area(frame);
  area.Put(0, 0, "autodist top: the window is too small:");
  area.Put(1, 0,
           std::to_string(view.columns) + " × " + std::to_string(view.rows) + ", minimum " +
               std::to_string(kMinColumns) + " × " + std::to_string(kMinRows));
  return frame;
}

bool IsTooSmall(const ViewState& view) {
  return view.columns < kMinColumns || (view.rows != 0 && view.rows < kMinRows);
}

}  // namespace

Frame Render(const v1::JobSnapshot& snapshot, const v1::History& history, const ViewState& view) {
  if (IsTooSmall(view)) return TooSmall(view);
  const Facts facts = FactsOf(snapshot);
  const Scene scene{snapshot, history, view, facts};
  Layout layout(scene, view.columns, view.rows);
  std::vector<Part> parts = layout.Parts();
  const int foot = view.rows == 0 ? 0 : 1;
  const int rows = view.rows == 0 ? NaturalRows(parts) : view.rows;
  Frame frame(view.columns, rows);
  const Area area(frame);
  constexpr int kWithGaps = 24;  // rows
  ShareRows(parts, rows - foot, rows >= kWithGaps || foot == 0);
  int row = 0;
  for (const Part& part : parts) {
    if (part.rows == 0) continue;
    if (part.has_gap) ++row;
    part.draw(area.Rows(row, part.rows));
    row += part.rows;
  }
  if (foot > 0) DrawFoot(area.Rows(rows - 1, 1), scene);
  return frame;
}

Frame RenderWaiting(const std::string& job_id, const ViewState& view) {
  if (IsTooSmall(view)) return TooSmall(view);
  Frame frame(view.columns, std::max(view.rows, 1));
  const Area area(frame);
  area.Put(0, 1, "autodist top  " + job_id, kStrong);
  area.Put(2, 1, view.no_answer.ok() ? "waiting for the job's state …" : Message(view.no_answer),
           kLabel);
  area.Put(view.rows - 1, 1, "q quit", kLabel);
  return frame;
}

}  // namespace autodist::top
