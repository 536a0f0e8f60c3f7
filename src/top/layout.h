// What the parts of the window are drawn from, and the parts. Each has rows of its own; how many it
// would take is told by a function beside it. Pure logic.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "top/frame.h"
#include "top/view_model.h"
#include "top/view_state.h"

namespace autodist::top {

// Of one picture; points to what is the caller's.
struct Scene {
  const v1::JobSnapshot& snapshot;
  const v1::History& history;
  const ViewState& view;
  const Facts& facts;

  int64_t now_ms() const { return snapshot.time_ms(); }
  // When it ended, or now.
  int64_t end_ms() const {
    return snapshot.job().ended_ms() > 0 ? snapshot.job().ended_ms() : now_ms();
  }
};

// The row at the top: how the job is, which one it is, and when that was so.
void DrawTitle(const Area& area, const Scene& scene);

// How far it is, how fast, how long.
int ProgressRows(const Scene& scene);
void DrawProgress(const Area& area, const Scene& scene);

// What is wrong; nothing where nothing is.
int IssueRows(const Scene& scene, int columns);
void DrawIssues(const Area& area, const Scene& scene);

// The whole job in a line, with what happened.
int TimelineRows(const Scene& scene);
void DrawTimeline(const Area& area, const Scene& scene);

// Nodes and their GPUs. `most`: rows that there are.
enum class GridKind { kLarge, kSmall, kDense };  // a cell: 9 × 2, 5 × 1, one character
struct Grid {
  GridKind kind = GridKind::kDense;
  int rows = 0;     // with the heading
  int columns = 0;  // of cells and the names before them
};
Grid GridFor(const Scene& scene, int columns, int most);
void DrawGrid(const Area& area, const Scene& scene, GridKind kind);

int RankRows(const Scene& scene);
void DrawRanks(const Area& area, const Scene& scene);

// How many curves there are: 0 to 6.
size_t CurveCount(const Scene& scene);
void DrawCurves(const Area& area, const Scene& scene, int beside_each_other);

// One after the other in the only row, or each in a row of its own, newest first.
void DrawEvents(const Area& area, const Scene& scene);

// Nodes with what is no GPU's, and where the time went.
int NodeTableRows(const Scene& scene);
void DrawNodeTable(const Area& area, const Scene& scene);

// A rank's log, stacks, or the keys, in place of all below the diagnosis.
void DrawPanel(const Area& area, const Scene& scene);

// The row at the foot: the keys, or what is asked.
void DrawFoot(const Area& area, const Scene& scene);

// The text in lines of so many columns at most, broken at spaces.
std::vector<std::string> Wrapped(const std::string& text, int columns);

// "3fa9c1" of "20261120-173000-3fa9c1".
std::string ShortId(const std::string& job_id);

}  // namespace autodist::top
