// Draws the host values of the nodes, and how the job's time was spent.
#include <algorithm>
#include <array>
#include <chrono>

#include "base/quantity.h"
#include "snapshot/recovery_times.h"
#include "top/layout.h"
#include "top/numbers.h"

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

}  // namespace autodist::top
