// What happened.
#include <algorithm>

#include "top/numbers.h"
#include "top/scene.h"

namespace autodist::top {
namespace {

// In a few words where an event says none.
std::string EventText(const v1::JobEvent& event) {
  std::string text = event.node().empty() ? "" : event.node() + " ";
  switch (event.node_phase()) {
    case v1::NODE_PHASE_RECONNECTING:
      text += "does not answer";
      break;
    case v1::NODE_PHASE_LOST:
      text += "is lost";
      break;
    case v1::NODE_PHASE_READY:
      text += "is ready";
      break;
    case v1::NODE_PHASE_RUNNING:
      text += "runs";
      break;
    case v1::NODE_PHASE_ENDED:
      text += "has ended";
      break;
    default:
      break;
  }
  switch (event.job_phase()) {
    case v1::JOB_PHASE_RUNNING:
      text += "attempt " + std::to_string(event.attempt() + 1) + " runs";
      break;
    case v1::JOB_PHASE_RESTARTING:
      text += "restarting";
      break;
    case v1::JOB_PHASE_STOPPING:
      text += "stopping";
      break;
    case v1::JOB_PHASE_ENDED:
      text += "ended";
      break;
    default:
      break;
  }
  if (event.has_rank()) text += "rank " + std::to_string(event.rank());
  if (!event.what().empty()) text += (text.empty() ? "" : ": ") + event.what();
  return text;
}

Style EventStyle(Mark mark) { return mark == Mark::kNone ? kAccent : StyleOf(mark); }

uint32_t EventGlyph(Mark mark) { return mark == Mark::kNone ? U'●' : GlyphOf(mark); }

// As many as fit, the newest to the right.
void DrawInOneRow(const Area& area, const Scene& scene) {
  const auto& events = scene.board.events();
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
    const Mark mark = MarkOfEvent(event);
    column = area.Put(0, column, ClockMinute(event.time_ms()) + " ", kLabel);
    area.Set(0, column, EventGlyph(mark), EventStyle(mark));
    column = area.Put(0, column + 2, EventText(event)) + 3;
  }
}

}  // namespace

Mark MarkOfEvent(const v1::JobEvent& event) {
  if (event.node_phase() == v1::NODE_PHASE_RECONNECTING) return Mark::kAway;
  if (event.node_phase() == v1::NODE_PHASE_LOST) return Mark::kFailed;
  if (event.job_phase() == v1::JOB_PHASE_RESTARTING) return Mark::kFailed;
  // What is told of a rank is its end, or what is odd about it.
  if (event.has_rank()) {
    return event.what().find("exited with code 0") == std::string::npos ? Mark::kFailed
                                                                        : Mark::kEnded;
  }
  return Mark::kNone;
}

void DrawEvents(const Area& area, const Scene& scene) {
  const auto& events = scene.board.events();
  if (area.rows() < 1 || events.empty()) return;
  if (area.rows() == 1) return DrawInOneRow(area, scene);
  area.Put(0, 1, "Events", kLabel);
  for (int row = 1; row < area.rows() && row <= events.size(); ++row) {
    const v1::JobEvent& event = events[events.size() - row];
    const Mark mark = MarkOfEvent(event);
    area.Put(row, 1, Clock(event.time_ms()), kLabel);
    area.Set(row, 11, EventGlyph(mark), EventStyle(mark));
    area.PutWithin(row, 13, area.columns() - 1, EventText(event));
  }
}

}  // namespace autodist::top
