// Draws the whole job in one row, with issues and events marked, and the times below.
#include <algorithm>

#include "snapshot/events.h"
#include "snapshot/state_names.h"
#include "top/layout.h"
#include "top/numbers.h"

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

}  // namespace autodist::top
