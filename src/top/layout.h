// The parts of the window and their data. Each part is drawn in its own rows, and a function next
// to it returns how many it wants. Pure logic.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"
#include "top/view_model.h"

namespace autodist::top {

// The data of one frame; refers to the caller's objects.
struct Scene {
  const v1::JobSnapshot& snapshot;
  const v1::History& history;
  const ViewState& view;
  const Facts& facts;

  int64_t now_ms() const { return snapshot.time_ms(); }
  // The end of the job, or now.
  int64_t end_ms() const {
    return snapshot.job().ended_ms() > 0 ? snapshot.job().ended_ms() : now_ms();
  }
};

// The top row: state, job id, and time of the snapshot.
void DrawTitle(const Area& area, const Scene& scene);

// Steps, rate and elapsed time.
int ProgressRows(const Scene& scene);
void DrawProgress(const Area& area, const Scene& scene);

// The issues; no rows without issues.
int IssueRows(const Scene& scene, int columns);
void DrawIssues(const Area& area, const Scene& scene);

// The whole job in one row, with marks for events.
int TimelineRows(const Scene& scene);
void DrawTimeline(const Area& area, const Scene& scene);

// Nodes and their GPUs. `most`: the available rows.
enum class GridKind { kLarge, kSmall, kDense };  // a cell: 9 × 2, 5 × 1, one character
struct Grid {
  GridKind kind = GridKind::kDense;
  int rows = 0;     // including the heading
  int columns = 0;  // of cells, and of the names before them
};
Grid GridFor(const Scene& scene, int columns, int most);
void DrawGrid(const Area& area, const Scene& scene, GridKind kind);

int RankRows(const Scene& scene);
void DrawRanks(const Area& area, const Scene& scene);

// The number of curves: 0 to 6.
size_t CurveCount(const Scene& scene);
void DrawCurves(const Area& area, const Scene& scene, int beside_each_other);

// In one row side by side, or one per row, newest first.
void DrawEvents(const Area& area, const Scene& scene);

// Host values of the nodes, and how the time was spent.
int NodeTableRows(const Scene& scene);
void DrawNodeTable(const Area& area, const Scene& scene);

// A rank's log, stacks, or the keys; replaces everything below the diagnosis.
void DrawPanel(const Area& area, const Scene& scene);

// The bottom row: keys, or a prompt.
void DrawFoot(const Area& area, const Scene& scene);

// Breaks the text at spaces into lines of at most `columns` columns.
std::vector<std::string> Wrapped(const std::string& text, int columns);

// "3fa9c1" of "20261120-173000-3fa9c1".
std::string ShortId(const std::string& job_id);

}  // namespace autodist::top
