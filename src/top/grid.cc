// Draws the grid of nodes × GPUs, or × ranks if no GPUs are known.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/quantity.h"
#include "top/layout.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr int kLargeColumns = 9;  // including a blank one after it
constexpr int kLargeRows = 3;     // including a blank one below
constexpr int kMaxNameColumns = 16;
constexpr int kFiguresColumns = 26;  // columns of the values right of a node's cells
constexpr int kDenseGap = 3;

int NameColumns(const Facts& facts) {
  int widest = 6;
  for (const NodeInfo& node : facts.nodes) widest = std::max(widest, WidthOf(node.node->name()));
  return std::min(widest + 3, kMaxNameColumns);  // including a mark
}

// A mark, a value, and the level of GPU memory; steps and watts need one more digit.
int SmallColumns(Fact fact) { return fact == Fact::kStep || fact == Fact::kPower ? 6 : 5; }

int CellsInRow(int columns, int cell, size_t most_slots) {
  return std::clamp(columns / cell, 1, std::max(static_cast<int>(most_slots), 1));
}

int RowsFor(size_t slots, int in_row) {
  return std::max((static_cast<int>(slots) + in_row - 1) / in_row, 1);
}

int SmallRows(const Facts& facts, int columns, int cell) {
  const int in_row = CellsInRow(columns - NameColumns(facts), cell, facts.most_slots);
  int rows = 1;
  for (const NodeInfo& node : facts.nodes) rows += RowsFor(node.slots.size(), in_row);
  return rows;
}

// In little space, omits the common beginning of all names.
struct DenseForm {
  size_t cut = 0;  // from each name
  int name = 0;    // columns
  int block = 0;   // a node, including the gap after it
  int in_row = 1;
  int slots = 1;  // per block
};

DenseForm DenseFormFor(const Facts& facts, int columns) {
  constexpr int kMaxDenseName = 10;
  DenseForm form;
  if (facts.nodes.empty()) return form;
  const std::string& first = facts.nodes[0].node->name();
  form.cut = first.size();
  for (const NodeInfo& node : facts.nodes) {
    size_t same = 0;
    while (same < std::min(form.cut, node.node->name().size()) &&
           node.node->name()[same] == first[same])
      ++same;
    form.cut = std::min(form.cut, same);
  }
  // Numbers are not split, and a single node keeps its name.
  while (form.cut > 0 && first[form.cut - 1] >= '0' && first[form.cut - 1] <= '9') --form.cut;
  if (facts.nodes.size() == 1) form.cut = 0;
  for (const NodeInfo& node : facts.nodes) {
    form.name = std::max(form.name, WidthOf(std::string_view(node.node->name()).substr(form.cut)));
  }
  form.name = std::min(form.name, kMaxDenseName);
  form.slots = std::min(static_cast<int>(facts.most_slots), columns - form.name - 3);
  form.block = form.name + 1 + form.slots + kDenseGap;
  form.in_row = std::max((columns - 1 + kDenseGap) / form.block, 1);
  return form;
}

// Seven shades of one hue with a dark background; setting both keeps any theme readable.
Style Shade(double share, v1::Mark mark) {
  constexpr std::array<int16_t, 7> kSteps = {235, 236, 237, 23, 23, 24, 24};
  const auto step = static_cast<size_t>(std::clamp(share * 7, 0.0, 6.0));
  Style style{.fore = 255, .back = kSteps[step]};
  if (mark >= v1::MARK_WARNING) {
    style = {.fore = kBlack, .back = StyleOf(mark).fore, .bold = true};
  } else if (mark == v1::MARK_WAITING) {
    style.back = kSteps[1];
  }
  return style;
}

bool IsOver(v1::Mark mark, const RankFacts* rank) {
  return mark == v1::MARK_ENDED || (rank && rank->rank->state() == v1::RANK_STATE_FAILED) ||
         (rank && rank->rank->state() == v1::RANK_STATE_LOST);
}

// The level of GPU memory.
uint32_t MemoryGlyph(const Slot& slot) {
  const auto memory = ValueOf(slot, Fact::kMemory, true);
  return memory ? Level(memory->share) : U' ';
}

std::string MarkText(v1::Mark mark) {
  std::string text;
  if (mark != v1::MARK_NONE) AppendCharacter(text, GlyphOf(mark));
  return text;
}

// "  93▆", " ▲99▆"; for a rank that has ended or has no data, its mark or "·".
void DrawSmallCell(const Area& area, int row, int column, int width, const Slot& slot,
                   const Scene& scene) {
  const int end = column + width;
  const auto value = ValueOf(slot, scene.view.fact, scene.facts.gpus);
  if (!value || IsOver(slot.mark, slot.rank)) {
    const bool marked = slot.mark != v1::MARK_NONE;
    area.PutRight(row, end - 1, marked ? MarkText(slot.mark) : "·",
                  marked ? StyleOf(slot.mark) : kLabel);
    return;
  }
  const Style shade = Shade(value->share, slot.mark);
  const std::string text = MarkText(slot.mark) + value->text;
  const int start = std::min(column + 1, end - 1 - WidthOf(text));  // otherwise after a gap
  for (int i = start; i < end; ++i) area.Set(row, i, U' ', shade);
  area.PutRight(row, end - 1, text, shade);
  area.Set(row, end - 1, MemoryGlyph(slot), shade);
}

// " 25   99▲" above a bar of GPU memory.
void DrawLargeCell(const Area& area, int row, int column, const Slot& slot, const Scene& scene) {
  const int end = column + kLargeColumns - 1;
  const auto value = ValueOf(slot, scene.view.fact, scene.facts.gpus);
  const bool known = value && !IsOver(slot.mark, slot.rank);
  const Style shade = known ? Shade(value->share, slot.mark) : kLabel;
  for (int i = column; known && i < end; ++i) {
    area.Set(row, i, U' ', shade);
    area.Set(row + 1, i, U' ', shade);
  }
  const std::string number = slot.rank ? std::to_string(slot.rank->rank->rank()) : "–";
  area.Put(row, column, number, known ? shade : kLabel);
  if (known) area.PutRight(row, end - 1, value->text, shade);
  if (slot.mark != v1::MARK_NONE) {
    area.Set(row, end - 1, GlyphOf(slot.mark), known ? shade : StyleOf(slot.mark));
  } else if (!known) {
    area.Set(row, end - 1, U'·', kLabel);
  }
  const auto memory = ValueOf(slot, Fact::kMemory, scene.facts.gpus);
  if (!known || !memory) return;
  const double wide = kLargeColumns - 1;
  const int full = static_cast<int>(std::lround(memory->share * wide));
  for (int i = 0; i < full; ++i) area.Set(row + 1, column + i, U'▂', shade);
}

double Power(const v1::NodeSnapshot& node) {
  double sum = 0;
  int count = 0;
  for (const v1::GpuSample& gpu : node.sample().gpus()) {
    if (!gpu.has_power()) continue;
    sum += gpu.power();
    ++count;
  }
  return count > 0 ? sum / count : -1;
}

// The mean power of the node's GPUs, its CPU use, and its received data.
void DrawFigures(const Area& area, int row, int column, const Scene& scene, const NodeInfo& node) {
  const v1::NodeSample& sample = node.node->sample();
  if (const double power = Power(*node.node); power >= 0) {
    area.PutRight(row, column + 7, Whole(power));
  }
  if (sample.host().has_cpu()) {
    area.PutRight(row, column + 13, Percent(sample.host().cpu()) + "%");
  }
  if (const Traffic traffic = TrafficOf(sample); traffic.known) {
    area.PutRight(row, column + 24, Speed(traffic.received), kLabel);
  }
  if (node.node->mark() == v1::MARK_DISCONNECTED && node.node->last_contact_ms() > 0) {
    area.Put(row, column + 26, "silent for " + Span(scene.now_ms() - node.node->last_contact_ms()),
             StyleOf(v1::MARK_DISCONNECTED));
  }
}

void DrawName(const Area& area, int row, const NodeInfo& node, int columns) {
  const int end = area.PutWithin(row, 1, columns - 2, node.node->name(),
                                 node.node->worst() >= v1::MARK_WARNING ? kStrong : kInk);
  DrawMark(area, row, end + 1, node.node->mark());
}

std::string FactHeading(const Scene& scene) {
  const bool gpus = scene.facts.gpus;
  switch (scene.view.fact) {
    case Fact::kUse:
      return gpus ? "use %" : "CPU %";
    case Fact::kMemory:
      return gpus ? "mem %" : "mem GB";
    case Fact::kPower:
      return "watts";
    case Fact::kTemperature:
      return "°C";
    case Fact::kStep:
      return "×median";
  }
  return "";
}

void DrawCells(const Area& area, const Scene& scene, GridKind kind) {
  const Facts& facts = scene.facts;
  const bool large = kind == GridKind::kLarge;
  const int names = NameColumns(facts);
  const int cell = large ? kLargeColumns : SmallColumns(scene.view.fact);
  const int height = large ? kLargeRows : 1;
  const int in_row = CellsInRow(area.columns() - names, cell, facts.most_slots);
  const int figures = names + in_row * cell + 1;
  const bool with_figures = !large && area.columns() - figures >= kFiguresColumns;
  area.Put(0, 1, FactHeading(scene), kLabel);
  for (int i = 0; facts.gpus && i < in_row; ++i) {
    area.PutRight(0, names + (i + 1) * cell - (large ? 3 : 1), std::to_string(i), kLabel);
  }
  if (with_figures && facts.gpus) area.PutRight(0, figures + 7, "W", kLabel);
  if (with_figures) area.PutRight(0, figures + 13, "cpu", kLabel);
  if (with_figures) area.PutRight(0, figures + 24, "received", kLabel);
  int row = 1;
  const std::vector<size_t> order = NodeOrder(facts, scene.view);
  for (size_t shown = 0; shown < order.size(); ++shown) {
    const NodeInfo& node = facts.nodes[order[shown]];
    const int rows = RowsFor(node.slots.size(), in_row) * height;
    const bool last = shown + 1 == order.size();
    // the last row may show how many are left out
    const int needed = rows - (large ? 1 : 0) + (last ? 0 : 1);
    if (row + needed > area.rows()) {
      area.Put(area.rows() - 1, 1, "… " + base::Count(order.size() - shown, "more node"), kLabel);
      return;
    }
    DrawName(area, row, node, names);
    if (large && node.node->sample().host().has_cpu()) {
      area.PutWithin(row + 1, 1, names, "cpu " + Percent(node.node->sample().host().cpu()) + "%",
                     kLabel);
    }
    for (size_t i = 0; i < node.slots.size(); ++i) {
      const int at_row = row + static_cast<int>(i) / in_row * height;
      const int at_column = names + static_cast<int>(i) % in_row * cell;
      if (large) {
        DrawLargeCell(area, at_row, at_column, node.slots[i], scene);
      } else {
        DrawSmallCell(area, at_row, at_column, cell, node.slots[i], scene);
      }
    }
    if (with_figures) DrawFigures(area, row, figures, scene, node);
    row += rows;
  }
}

void DrawDenseCell(const Area& area, int row, int column, const Slot& slot, const Scene& scene) {
  if (slot.mark != v1::MARK_NONE && slot.mark != v1::MARK_WAITING) {
    area.Set(row, column, GlyphOf(slot.mark), StyleOf(slot.mark));
    return;
  }
  const auto value = ValueOf(slot, scene.view.fact, scene.facts.gpus);
  const uint32_t level = value ? Level(value->share) : U' ';
  area.Set(row, column, level == U' ' ? U'·' : level, level == U' ' ? kLabel : kAccent);
}

void DrawDenseHeading(const Area& area, const Scene& scene) {
  const Facts& facts = scene.facts;
  std::string text = base::Count(facts.nodes.size(), "node") + " × " +
                     std::to_string(facts.most_slots) + (scene.view.by_name ? "" : ", worst first");
  int column = area.Put(0, 1, text);
  const std::string what = facts.gpus ? "a cell is a GPU" : "a cell is a rank";
  column = area.Put(0, column + 3, what + ", its height: " + FactHeading(scene), kLabel) + 2;
  struct Legend {
    v1::Mark mark;
    const char* text;
  };
  constexpr std::array<Legend, 4> kLegend = {{{v1::MARK_SLOW, "slow"},
                                              {v1::MARK_STALLED, "stuck"},
                                              {v1::MARK_FAILED, "failed"},
                                              {v1::MARK_DISCONNECTED, "disconnected"}}};
  for (const Legend& legend : kLegend) {
    const bool there = std::ranges::any_of(facts.nodes, [&](const NodeInfo& node) {
      return std::ranges::count(node.slots, legend.mark, &Slot::mark) > 0;
    });
    if (!there || column + 10 > area.columns()) continue;
    area.Set(0, column + 1, GlyphOf(legend.mark), StyleOf(legend.mark));
    column = area.Put(0, column + 3, legend.text, kLabel) + 1;
  }
}

void DrawDense(const Area& area, const Scene& scene) {
  const Facts& facts = scene.facts;
  const DenseForm form = DenseFormFor(facts, area.columns());
  DrawDenseHeading(area, scene);
  const std::vector<size_t> order = NodeOrder(facts, scene.view);
  const int room = (area.rows() - 1) * form.in_row;
  const bool all = static_cast<int>(order.size()) <= room;
  const int shown = all ? static_cast<int>(order.size()) : room - 1;
  for (int i = 0; i < shown; ++i) {
    const NodeInfo& node = facts.nodes[order[static_cast<size_t>(i)]];
    const int row = 1 + i / form.in_row;
    const int column = 1 + i % form.in_row * form.block;
    area.PutWithin(row, column, column + form.name,
                   std::string_view(node.node->name()).substr(form.cut),
                   node.node->worst() >= v1::MARK_WARNING ? kStrong : kLabel);
    for (int slot = 0; slot < std::min(static_cast<int>(node.slots.size()), form.slots); ++slot) {
      DrawDenseCell(area, row, column + form.name + 1 + slot, node.slots[static_cast<size_t>(slot)],
                    scene);
    }
  }
  if (all || shown < 0) return;
  area.Put(1 + shown / form.in_row, 1 + shown % form.in_row * form.block,
           "… " + std::to_string(static_cast<int>(order.size()) - shown) + " more", kLabel);
}

}  // namespace

Grid GridFor(const Scene& scene, int columns, int most) {
  const Facts& facts = scene.facts;
  const int names = NameColumns(facts);
  const auto slots = static_cast<int>(facts.most_slots);
  const auto nodes = static_cast<int>(facts.nodes.size());
  if (nodes == 0) return {GridKind::kSmall, 0, 0};
  const int large = nodes * kLargeRows;
  if (large <= most && names + slots * kLargeColumns <= columns) {
    return {GridKind::kLarge, large, names + slots * kLargeColumns};
  }
  const int cell = SmallColumns(scene.view.fact);
  const int small = SmallRows(facts, columns, cell);
  if (small <= most) {
    return {GridKind::kSmall, small, std::min(names + slots * cell + kFiguresColumns, columns)};
  }
  const DenseForm form = DenseFormFor(facts, columns);
  const int dense = 1 + (nodes + form.in_row - 1) / form.in_row;
  return {GridKind::kDense, std::min(dense, std::max(most, 2)), columns};
}

void DrawGrid(const Area& area, const Scene& scene, GridKind kind) {
  if (area.rows() < 2 || scene.facts.nodes.empty()) return;
  if (kind == GridKind::kDense) return DrawDense(area, scene);
  DrawCells(area, scene, kind);
}

}  // namespace autodist::top
