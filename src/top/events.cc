// Draws events.
#include <algorithm>
#include <string_view>

#include "base/split.h"
#include "snapshot/events.h"
#include "top/layout.h"
#include "top/numbers.h"

namespace autodist::top {
namespace {

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
