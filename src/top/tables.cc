// Draws the tables: the ranks with their speed and last line of output; the host values of the
// nodes, and how the job's time was spent.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>

#include "base/quantity.h"
#include "snapshot/recovery_times.h"
#include "top/layout.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr int kFigure = 12;  // columns

// In the order of the headings; empty: unknown.
std::array<std::string, 8> NodeFigures(const v1::NodeSnapshot& node, int64_t now_ms) {
  const v1::HostSample& host = node.sample().host();
  const Traffic traffic = TrafficOf(node.sample());
  std::array<std::string, 8> figures;
  if (host.has_cpu()) figures[0] = Percent(host.cpu()) + " %";
  if (host.has_memory_used()) figures[1] = base::Bytes(host.memory_used());
  if (host.has_memory_pressure()) figures[2] = Short(host.memory_pressure() * 100) + " %";
  if (host.has_disk_write()) figures[3] = Speed(host.disk_write());
  if (traffic.known) {
    figures[4] = Speed(traffic.received);
    figures[5] = Speed(traffic.sent);
    figures[6] = base::Thousands(traffic.errors);
  }
  if (node.last_contact_ms() > 0) figures[7] = Span(now_ms - node.last_contact_ms());
  return figures;
}

// "training 5 h 9 min  stalled 1 min 48 s", without parts of zero length.
std::string TimePartsText(const v1::GoodputParts& spent) {
  std::string text;
  const auto add = [&](const char* name, int64_t time_ms) {
    if (time_ms > 0) text += std::string("   ") + name + " " + Span(time_ms);
  };
  add("training", spent.training());
  add("lost steps", spent.lost_steps());
  add("stalled", spent.stalled());
  add("start-up", spent.start_up());
  add("restarting", spent.restarting());
  add("stopping", spent.stopping());
  return text;
}

// The last restart: how long it took, and a bar and the names of all parts.
void DrawRecovery(const Area& area, int row, const v1::Recovery& recovery) {
  constexpr int kBar = 20;
  constexpr std::array<uint32_t, 2> kGlyphs{U'█', U'▒'};  // of neighbours
  const int64_t total = std::max<int64_t>(snapshot::Total(recovery), 1);
  const auto text = [](int64_t time) {
    return base::ExactlyElapsed(std::chrono::milliseconds(time));
  };
  area.Put(row, 1, "Restart", kLabel);
  int column = area.Put(row, 10, text(total)) + 1;
  const int begin = column;
  std::string names;
  int64_t before = 0;
  for (size_t i = 0; const snapshot::RecoveryPart& part : snapshot::PartsOf(recovery)) {
    before += part.time;
    const int end = begin + static_cast<int>(before * kBar / total);
    while (column < end) area.Set(row, column++, kGlyphs[i % kGlyphs.size()], kAccent);
    names += std::string("  ") + part.name + " " + text(part.time);
    ++i;
  }
  area.Put(row, column, names);
}

constexpr int kFullTable = 150;  // columns
constexpr int kPidTable = 100;

// A column of the table; numbers are right-aligned.
struct TableColumn {
  const char* heading;
  int width;
  std::function<std::string(const RankFacts&)> text;
  bool figure = true;
};

std::string WroteText(const v1::RankSnapshot& rank, int64_t now_ms) {
  constexpr int64_t kMinute = 60'000;
  constexpr int64_t kHour = 60 * kMinute;
  if (rank.last_output_ms() <= 0) return "–";
  const int64_t silent = std::max<int64_t>(now_ms - rank.last_output_ms(), 0);
  if (silent < 10'000) {
    return std::to_string(silent / 1000) + "." + std::to_string(silent % 1000 / 100) + " s";
  }
  if (silent < kMinute) return std::to_string(silent / 1000) + " s";
  if (silent < kHour) return std::to_string(silent / kMinute) + " min";
  return std::to_string(silent / kHour) + " h";
}

template <typename Has, typename Get>
std::function<std::string(const RankFacts&)> OfGpu(Has has, Get get) {
  return [has, get](const RankFacts& rank) {
    return rank.gpu && (rank.gpu->*has)() ? get(*rank.gpu) : std::string();
  };
}

void AddGpuColumns(std::vector<TableColumn>& columns, bool full) {
  using Gpu = v1::GpuSample;
  columns.push_back(
      {"use", 4, OfGpu(&Gpu::has_use, [](const Gpu& gpu) { return Percent(gpu.use()); })});
  if (full) {
    columns.push_back({"mem", 6, OfGpu(&Gpu::has_memory_used, [](const Gpu& gpu) {
                         return Gigabytes(static_cast<double>(gpu.memory_used()));
                       })});
  }
  columns.push_back(
      {"W", 5, OfGpu(&Gpu::has_power, [](const Gpu& gpu) { return Whole(gpu.power()); })});
  if (full) {
    columns.push_back({"°C", 4, OfGpu(&Gpu::has_temperature, [](const Gpu& gpu) {
                         return Whole(gpu.temperature());
                       })});
  }
  columns.push_back({"MHz", full ? 6 : 5,
                     OfGpu(&Gpu::has_clock, [](const Gpu& gpu) { return Whole(gpu.clock()); })});
}

std::vector<TableColumn> ColumnsFor(const Scene& scene, int width) {
  const bool full = width >= kFullTable;
  const Facts& facts = scene.facts;
  int where = 5;
  bool samples = false;
  bool pids = false;
  for (const RankFacts& rank : facts.ranks) {
    where = std::max(where, std::min(WidthOf(rank.rank->where()), full ? 24 : 12));
    samples = samples || rank.rank->sample().has_cpu();
    pids = pids || rank.rank->has_pid();
  }
  std::vector<TableColumn> columns;
  columns.push_back(
      {"where", where, [](const RankFacts& rank) { return rank.rank->where(); }, false});
  if (full || !facts.steps) {
    columns.push_back(
        {"state", 12, [](const RankFacts& rank) { return rank.rank->state_text(); }, false});
  }
  if (facts.steps) {
    columns.push_back({"step", 5, [](const RankFacts& rank) {
                         return rank.rank->has_step_time() ? Short(rank.rank->step_time()) : "–";
                       }});
    columns.push_back({"×median", 7, [](const RankFacts& rank) {
                         return rank.rank->has_relative() ? Relative(rank.rank->relative()) : "–";
                       }});
  }
  if (facts.gpus) AddGpuColumns(columns, full);
  if (samples && (full || !facts.gpus)) {
    columns.push_back({"cpu %", 6, [](const RankFacts& rank) {
                         const v1::RankSample& sample = rank.rank->sample();
                         return sample.has_cpu() ? Whole(sample.cpu() * 100) : "";
                       }});
  }
  if (samples && !facts.gpus) {
    columns.push_back({"memory", 9, [](const RankFacts& rank) {
                         const v1::RankSample& sample = rank.rank->sample();
                         return sample.has_memory() ? base::Bytes(sample.memory()) : "";
                       }});
  }
  if (full || !facts.gpus) {
    columns.push_back({"wrote", 6, [now = scene.now_ms()](const RankFacts& rank) {
                         return WroteText(*rank.rank, now);
                       }});
  }
  if (pids && (full || (!facts.gpus && width >= kPidTable))) {
    columns.push_back({"pid", 7, [](const RankFacts& rank) {
                         return rank.rank->has_pid() ? std::to_string(rank.rank->pid()) : "";
                       }});
  }
  return columns;
}

// The most relevant text about the rank, for the rest of the row.
std::string FailureExcerpt(const v1::RankSnapshot& rank) {
  if (!rank.ended().empty() || !rank.failure().empty()) return rank.cause();
  const bool throttled = rank.cause().starts_with("throttled: ");
  return (throttled ? rank.cause() + "   " : "") + rank.last_line();
}

void DrawRow(const Area& area, int row, const std::vector<TableColumn>& columns,
             const RankFacts& rank, bool selected) {
  const Style style = rank.rank->mark() >= v1::MARK_WARNING ? StyleOf(rank.rank->mark()) : kInk;
  area.PutRight(row, 5, rank.rank->auxiliary() ? "–" : std::to_string(rank.rank->rank()),
                rank.rank->mark() >= v1::MARK_WARNING ? style : kStrong);
  DrawMark(area, row, 6, rank.rank->mark());
  int column = 8;
  for (const TableColumn& it : columns) {
    const std::string text = it.text(rank);
    const Style shown = it.figure && rank.rank->mark() == v1::MARK_DISCONNECTED ? kLabel : kInk;
    if (it.figure) {
      area.PutRight(row, column + it.width, text, shown);
    } else {
      area.PutWithin(row, column, column + it.width, text, shown);
    }
    column += it.width + 1;
  }
  const std::string words = FailureExcerpt(*rank.rank);
  const bool issue = !rank.rank->ended().empty() && rank.rank->mark() == v1::MARK_FAILED;
  area.PutWithin(row, column + 1, area.columns() - 1, words, issue ? style : kLabel);
  if (selected) area.Paint(row, 0, area.columns(), {.reverse = true});
}

// The first row that is shown, so that the selected rank is visible.
size_t FirstShown(const Scene& scene, const std::vector<size_t>& order, size_t room) {
  for (size_t i = 0; scene.view.selected && i < order.size(); ++i) {
    if (scene.facts.ranks[order[i]].rank->rank() != *scene.view.selected) continue;
    return i < room ? 0 : i + 1 - room;
  }
  return 0;
}

std::string HeadingEnd(const Scene& scene, size_t fitting) {
  std::string text = "last line";
  if (scene.view.sort != Sort::kWorst) {
    text += std::string("   by ") + kSortNames[static_cast<size_t>(scene.view.sort)];
  }
  if (!scene.view.filter.empty()) {
    text += "   " + base::Count(fitting, "rank") + " with " + scene.view.filter;
  }
  return text;
}

}  // namespace

int NodeTableRows(const Scene& scene) {
  constexpr int kMaxNodes = 16;
  return 1 + std::min(scene.snapshot.nodes_size(), kMaxNodes) +
         (scene.snapshot.has_goodput_parts() ? 2 : 0) +
         (scene.snapshot.recoveries_size() > 0 ? 1 : 0);
}

void DrawNodeTable(const Area& area, const Scene& scene) {
  constexpr std::array<const char*, 8> kHeadings = {
      "cpu", "memory", "pressure", "disk written", "received", "sent", "errors", "silent"};
  if (area.rows() < 2) return;
  const std::string spent = TimePartsText(scene.snapshot.goodput_parts());
  int rows = area.rows();
  if (!spent.empty() && rows >= 4) {
    area.Put(--rows, 1, "Time", kLabel);
    area.Put(rows, 7, spent);
    --rows;
  }
  if (scene.snapshot.recoveries_size() > 0 && rows >= 4) {
    DrawRecovery(area, --rows, *scene.snapshot.recoveries().rbegin());
  }
  constexpr int kNames = 15;
  area.Put(0, 1, "Nodes", kLabel);
  const auto end_of = [](size_t column) {
    return kNames + (static_cast<int>(column) + 1) * (kFigure + 1);
  };
  for (size_t i = 0; i < kHeadings.size() && end_of(i) < area.columns(); ++i) {
    area.PutRight(0, end_of(i), kHeadings[i], kLabel);
  }
  const std::vector<size_t> order = NodeOrder(scene.facts, scene.view);
  for (int row = 1; row < rows && row <= static_cast<int>(order.size()); ++row) {
    const NodeInfo& node = scene.facts.nodes[order[static_cast<size_t>(row - 1)]];
    const int end = area.PutWithin(row, 1, kNames - 2, node.node->name());
    DrawMark(area, row, end + 1, node.node->mark());
    const auto figures = NodeFigures(*node.node, scene.now_ms());
    for (size_t i = 0; i < figures.size() && end_of(i) < area.columns(); ++i) {
      area.PutRight(row, end_of(i), figures[i],
                    node.node->mark() == v1::MARK_DISCONNECTED ? kLabel : kInk);
    }
  }
}

int RankRows(const Scene& scene) {
  return scene.facts.ranks.empty()
             ? 0
             : 1 + static_cast<int>(RankOrder(scene.snapshot, scene.facts, scene.view).size());
}

void DrawRanks(const Area& area, const Scene& scene) {
  if (area.rows() < 2 || scene.facts.ranks.empty()) return;
  const std::vector<TableColumn> columns = ColumnsFor(scene, area.columns());
  const std::vector<size_t> order = RankOrder(scene.snapshot, scene.facts, scene.view);
  area.Put(0, 1, "rank", kLabel);
  int column = 8;
  for (const TableColumn& it : columns) {
    if (it.figure) {
      area.PutRight(0, column + it.width, it.heading, kLabel);
    } else {
      area.Put(0, column, it.heading, kLabel);
    }
    column += it.width + 1;
  }
  area.Put(0, column + 1, HeadingEnd(scene, order.size()), kLabel);
  auto room = static_cast<size_t>(area.rows() - 1);
  const bool all = order.size() <= room;
  if (!all && room > 4) --room;  // keeps a row for the number of hidden ranks
  const size_t first = FirstShown(scene, order, room);
  for (size_t i = 0; i < room && first + i < order.size(); ++i) {
    const RankFacts& rank = scene.facts.ranks[order[first + i]];
    DrawRow(area, static_cast<int>(i) + 1, columns, rank, scene.view.selected == rank.rank->rank());
  }
  if (all || static_cast<int>(room) + 1 >= area.rows()) return;
  const size_t more = order.size() - room - first;
  std::string text = "…";
  if (more > 0) text += " " + std::to_string(more) + " more below";
  if (first > 0) text += (more > 0 ? ", " : " ") + std::to_string(first) + " above";
  area.Put(area.rows() - 1, 8, text, kLabel);
}

}  // namespace autodist::top
