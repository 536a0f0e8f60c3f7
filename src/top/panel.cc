// Draws the panel that replaces grid, ranks and curves (log, stacks or keys), and the bottom row.
#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "top/layout.h"

namespace autodist::top {
namespace {

struct KeyHelp {
  const char* keys;
  const char* what;
};
constexpr std::array<KeyHelp, 19> kKeyHelp = {{
    {"j k  ↓ ↑", "choose a rank"},
    {"Enter", "its log; f follows, / searches, n next, Esc back"},
    {"s", "sort ranks: worst, rank, step, use, memory, power, silent"},
    {"/", "only ranks with this text in their row; Esc: all"},
    {"m", "what a cell shows: use, memory, power, temp, step"},
    {"o", "nodes with issues first, or by their names"},
    {"1 – 6", "one curve alone; again, or Esc: all"},
    {"t", "the time that curves show"},
    {"w", "why it makes no progress, or slowly, as autodist why says"},
    {"e", "evidence of the issues"},
    {"x", "stacks of all ranks"},
    {"S", "stop the job, as Ctrl-C would; asks first"},
    {"? h", "these keys"},
    {"Ctrl-L", "redraw the window"},
    {"q", "quit; the job continues"},
    {"", ""},
    {"▲ slow", "■ has not entered or stalls   ‖ waits for others"},
    {"✕ failed", "↻ its node does not answer   ! a warning"},
    {"○ starts", "· has ended, or nothing is known"},
}};

void DrawKeyHelp(const Area& area) {
  for (size_t i = 0; i < kKeyHelp.size(); ++i) {
    const int row = static_cast<int>(i) + 1;
    area.PutWithin(row, 3, 14, kKeyHelp[i].keys, kStrong);
    area.Put(row, 14, kKeyHelp[i].what);
  }
}

// Highlights the matches of a search in the line.
void MarkFound(const Area& area, int row, const std::string& text, const std::string& search) {
  if (search.empty()) return;
  int column = 1;
  size_t before = 0;
  for (size_t at = text.find(search); at != std::string::npos; at = text.find(search, at + 1)) {
    column += WidthOf(text.substr(before, at - before));
    before = at;
    if (column >= area.columns()) return;
    area.Paint(row, column, column + WidthOf(search), {.reverse = true});
  }
}

void DrawText(const Area& area, const PanelView& panel) {
  if (!panel.text) {
    area.Put(1, 1, "waiting …", kLabel);
    return;
  }
  const TextLines& lines = *panel.text;
  const auto rows = static_cast<size_t>(std::max(area.rows() - 1, 0));
  const size_t above = std::min(panel.above, lines.size() > rows ? lines.size() - rows : 0);
  const size_t end = lines.size() - above;
  const size_t first = end > rows ? end - rows : 0;
  for (size_t i = first; i < end; ++i) {
    const int row = static_cast<int>(i - first) + 1;
    area.Put(row, 1, lines[i].text, lines[i].error ? Style{.fore = kYellow} : kInk);
    MarkFound(area, row, lines[i].text, panel.search);
  }
  if (lines.empty()) area.Put(1, 1, "nothing has been written yet", kLabel);
  std::string where = panel.kind == Panel::kLog && above == 0 ? "follows" : "";
  if (above > 0) where = base::Count(above, "line") + " below";
  area.PutRight(0, area.columns() - 1, where, kLabel);
}

// Omits actions that need a running job.
std::string KeyHints(const ViewState& view, bool runs) {
  if (view.panel.kind == Panel::kKeys) return "any key: back   q quit";
  if (view.panel.open()) {
    return "j k lines   space b pages   g G ends   f follow   / search   n next   Esc back   q "
           "quit";
  }
  std::string all = std::string("j k rank   ↵ its log   s sort: ") +
                    kSortNames[static_cast<size_t>(view.sort)] + "   / filter   w why" +
                    (runs ? "   x stacks" : "") +
                    "   m cells: " + kFactNames[static_cast<size_t>(view.fact)] +
                    "   o order: " + (view.by_name ? "names" : "worst") + "   1–6 curve   t range" +
                    (runs ? "   S stop…" : "") + "   q quit   ? keys";
  if (WidthOf(all) + 1 < view.columns) return all;
  if (!runs) return "j k rank  ↵ log  s sort  / filter  w why  m cell  q  ? keys";
  return "j k rank  ↵ log  s sort  / filter  w why  x stacks  m cell  S stop  q  ? keys";
}

}  // namespace

void DrawPanel(const Area& area, const Scene& scene) {
  if (area.rows() < 2) return;
  const PanelView& panel = scene.view.panel;
  const bool keys = panel.kind == Panel::kKeys;
  area.Put(0, 1, keys ? "Keys" : panel.title, kStrong);
  if (keys) return DrawKeyHelp(area);
  DrawText(area, panel);
}

void DrawFoot(const Area& area, const Scene& scene) {
  const ViewState& view = scene.view;
  if (area.rows() < 1) return;
  if (view.prompt == Prompt::kStop) {
    const bool again = scene.snapshot.job().stop_requested();
    area.Put(0, 1,
             again ? "It is being stopped. End its ranks at once, without the grace period?  y n"
                   : "Stop job " + ShortId(scene.snapshot.job().job_id()) +
                         ", as Ctrl-C in its terminal would?  y n",
             {.fore = kYellow, .bold = true, .reverse = true});
    return;
  }
  if (view.prompt == Prompt::kText) {
    const PanelView& panel = view.panel;
    area.Put(0, 1, (panel.open() ? "search: " + panel.search : "ranks with: " + view.filter) + "▏",
             kStrong);
    return;
  }
  if (!view.notice.empty()) {
    area.Put(0, 1, view.notice, {.fore = kYellow});
    return;
  }
  area.Put(0, 1, KeyHints(view, Runs(scene.snapshot.job())), kLabel);
}

}  // namespace autodist::top
