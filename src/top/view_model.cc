#include "top/view_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include "base/quantity.h"
#include "base/wall_clock.h"

namespace autodist::top {
namespace {

constexpr double kMaxCounted = 1e15;  // larger values and NaN are printed as by printf

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

const v1::GpuSample* GpuOf(const v1::NodeSnapshot& node, uint32_t index) {
  const auto& gpus = node.sample().gpus();
  const auto found = std::ranges::find(gpus, index, &v1::GpuSample::index);
  return found == gpus.end() ? nullptr : &*found;
}

void AddSlots(Facts& facts, const RankFacts& rank, NodeInfo& node) {
  const auto add = [&](const v1::GpuSample* gpu, uint32_t number) {
    node.slots.push_back({&rank, gpu, std::to_string(number), rank.rank->mark()});
  };
  if (rank.rank->gpus().empty()) add(nullptr, rank.rank->rank());
  for (const uint32_t index : rank.rank->gpus()) add(GpuOf(*node.node, index), index);
  facts.gpus = facts.gpus || !rank.rank->gpus().empty();
}

// Adds known GPUs without a rank, if ranks do not report their GPUs.
void AddOtherGpus(Facts& facts, NodeInfo& node) {
  for (const v1::GpuSample& gpu : node.node->sample().gpus()) {
    if (std::ranges::count(node.slots, &gpu, &Slot::gpu) > 0) continue;
    node.slots.push_back({nullptr, &gpu, std::to_string(gpu.index()), node.node->mark()});
    facts.gpus = true;
  }
}

std::optional<Value> OfMost(const std::string& text, double value, double most) {
  const double share = value / most;
  return Value{text, share > 0 ? std::min(share, 1.0) : 0};  // NaN: 0
}

// `share` is relative to a clearly slow step.
std::optional<Value> StepValue(const Slot& slot) {
  constexpr double kSlowest = 2;
  if (!slot.rank || !slot.rank->rank->has_relative()) return std::nullopt;
  const double relative = slot.rank->rank->relative();
  return OfMost(Relative(relative), relative, kSlowest);
}

std::optional<Value> GpuValue(const v1::GpuSample& gpu, Fact fact) {
  constexpr double kHottest = 100;  // degrees Celsius
  constexpr double kPower = 700;    // watts, if the limit is unknown
  switch (fact) {
    case Fact::kUse:
      if (gpu.has_use()) return OfMost(Percent(gpu.use()), gpu.use(), 1);
      break;
    case Fact::kMemory:
      if (gpu.has_memory_used() && gpu.memory_total() > 0) {
        const double share =
            static_cast<double>(gpu.memory_used()) / static_cast<double>(gpu.memory_total());
        return OfMost(Percent(share), share, 1);
      }
      break;
    case Fact::kPower:
      if (gpu.has_power()) {
        return OfMost(Whole(gpu.power()), gpu.power(),
                      gpu.has_power_limit() ? gpu.power_limit() : kPower);
      }
      break;
    case Fact::kTemperature:
      if (gpu.has_temperature()) {
        return OfMost(Whole(gpu.temperature()), gpu.temperature(), kHottest);
      }
      break;
    case Fact::kStep:
      break;
  }
  return std::nullopt;
}

// Without GPUs: the cores and the memory that the rank uses.
std::optional<Value> RankValue(const v1::RankSnapshot& rank, Fact fact) {
  constexpr double kCores = 1;
  constexpr double kMemory = 10e9;  // bytes; scales only the bar
  const v1::RankSample& sample = rank.sample();
  if (fact == Fact::kUse && sample.has_cpu()) {
    return OfMost(Percent(sample.cpu()), sample.cpu(), kCores);
  }
  if (fact == Fact::kMemory && sample.has_memory()) {
    const auto bytes = static_cast<double>(sample.memory());
    return OfMost(Gigabytes(bytes), bytes, kMemory);
  }
  return std::nullopt;
}

bool Fits(const RankFacts& rank, const std::string& filter) {
  const v1::RankSnapshot& of = *rank.rank;
  const std::string wanted = absl::AsciiStrToLower(filter);
  const auto has = [&](const std::string& text) {
    return absl::StrContains(absl::AsciiStrToLower(text), wanted);
  };
  return filter.empty() || std::to_string(of.rank()) == filter || has(of.where()) ||
         has(of.last_line()) || has(of.ended()) || has(of.name());
}

// The sort key; the largest comes first.
double KeyOf(const RankFacts& rank, Sort sort, int64_t now_ms) {
  switch (sort) {
    case Sort::kStep:
      return rank.rank->step_time();
    case Sort::kUse:
      return rank.gpu ? rank.gpu->use() : rank.rank->sample().cpu();
    case Sort::kMemory:
      return static_cast<double>(rank.gpu ? rank.gpu->memory_used() : rank.rank->sample().memory());
    case Sort::kPower:
      return rank.gpu ? rank.gpu->power() : 0;
    case Sort::kSilent:
      return static_cast<double>(now_ms - rank.rank->last_output_ms());
    default:
      return 0;
  }
}

// The indices of all ranks.
std::vector<size_t> Sorted(const v1::JobSnapshot& snapshot, const Facts& facts, Sort sort) {
  if (sort == Sort::kWorst && snapshot.worst_first_size() == snapshot.ranks_size()) {
    return {snapshot.worst_first().begin(), snapshot.worst_first().end()};
  }
  std::vector<std::pair<double, size_t>> keyed;
  for (size_t i = 0; i < facts.ranks.size(); ++i) {
    const double key = KeyOf(facts.ranks[i], sort, snapshot.time_ms());
    keyed.emplace_back(std::isnan(key) ? 0 : -key, i);
  }
  std::ranges::sort(keyed);
  std::vector<size_t> order;
  order.reserve(keyed.size());
  for (const auto& [key, index] : keyed) order.push_back(index);
  return order;
}

}  // namespace

std::string Short(double value) {
  if (!(std::abs(value) < kMaxCounted)) return Formatted("%.3g", value);
  if (value >= 99.95) return base::Thousands(static_cast<size_t>(std::llround(value)));
  return Formatted(value >= 9.995                  ? "%.1f"
                   : value >= 0.9995 || value == 0 ? "%.2f"
                                                   : "%.3f",
                   value);
}

std::string Relative(double value) {
  return Formatted(std::abs(value) < kMaxCounted ? "%.2f" : "%.3g", value);
}

std::string Whole(double value) {
  return Formatted(std::abs(value) < kMaxCounted ? "%.0f" : "%.3g", value);
}

std::string MetricText(double value) { return Formatted("%.4g", value); }

std::string Percent(double share) { return Whole(share * 100); }

std::string Span(int64_t milliseconds) {
  constexpr int64_t kSecond = 1000;
  return base::Elapsed(
      std::chrono::milliseconds(std::max<int64_t>(milliseconds, 0) / kSecond * kSecond));
}

std::string Clock(int64_t time_ms) { return base::LocalTime("%H:%M:%S", time_ms / 1000); }

std::string ClockMinute(int64_t time_ms) { return base::LocalTime("%H:%M", time_ms / 1000); }

std::string Speed(double bytes_per_second) {
  if (!(bytes_per_second >= 0 && bytes_per_second < kMaxCounted)) return "?";
  if (bytes_per_second < 1000) return "0 kB/s";
  return base::Bytes(static_cast<uint64_t>(bytes_per_second)) + "/s";
}

std::string Gigabytes(double bytes) { return Formatted("%.1f", bytes / 1e9); }

std::string BarText(double share, int columns) {
  const double clamped = share > 0 ? std::min(share, 1.0) : 0;  // NaN: 0
  const int halves = static_cast<int>(std::floor(clamped * columns * 2));
  std::string text;
  for (int i = 0; i < halves / 2; ++i) text += "━";
  if (halves % 2 == 1) text += "╸";
  return text;
}

uint32_t Level(double share) {
  if (!(share > 0.02)) return U' ';
  return U'▁' + static_cast<uint32_t>(std::min(share * 7, 6.0));
}

uint32_t GlyphOf(v1::Mark mark) {
  constexpr std::array<uint32_t, 9> kGlyphs = {U' ', U'·', U'‖', U'○', U'!',
                                               U'↻', U'▲', U'■', U'✕'};
  return kGlyphs[static_cast<size_t>(mark)];
}

Style StyleOf(v1::Mark mark) {
  switch (mark) {
    case v1::MARK_FAILED:
    case v1::MARK_STALLED:
      return {.fore = kRed, .bold = true};
    case v1::MARK_SLOW:
    case v1::MARK_WARNING:
      return {.fore = kYellow, .bold = true};
    case v1::MARK_DISCONNECTED:
      return {.fore = kMagenta, .bold = true};
    default:
      return kLabel;
  }
}

void DrawMark(const Area& area, int row, int column, v1::Mark mark) {
  if (mark != v1::MARK_NONE) area.Set(row, column, GlyphOf(mark), StyleOf(mark));
}

Traffic TrafficOf(const v1::NodeSample& sample) {
  Traffic traffic;
  const auto add = [&](const auto& link) {
    traffic.received += link.received();
    traffic.sent += link.sent();
    traffic.errors += link.errors();
    traffic.known = true;
  };
  for (const auto& it : sample.interfaces()) add(it);
  for (const auto& it : sample.infinibands()) add(it);
  return traffic;
}

Facts FactsOf(const v1::JobSnapshot& snapshot) {
  Facts facts;
  for (const v1::NodeSnapshot& node : snapshot.nodes()) facts.nodes.push_back({&node, {}});
  facts.ranks.reserve(static_cast<size_t>(snapshot.ranks_size()));  // cells point to the elements
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    facts.ranks.push_back({&rank, nullptr});
    RankFacts& found = facts.ranks.back();
    facts.steps = facts.steps || rank.has_step_time();
    if (rank.node() >= facts.nodes.size()) continue;
    NodeInfo& node = facts.nodes[rank.node()];
    if (!rank.gpus().empty()) found.gpu = GpuOf(*node.node, rank.gpus(0));
    if (!rank.auxiliary()) AddSlots(facts, found, node);
  }
  for (NodeInfo& node : facts.nodes) {
    AddOtherGpus(facts, node);
    facts.most_slots = std::max(facts.most_slots, node.slots.size());
  }
  return facts;
}

std::optional<Value> ValueOf(const Slot& slot, Fact fact, bool gpus) {
  if (fact == Fact::kStep) return StepValue(slot);
  if (slot.gpu) return GpuValue(*slot.gpu, fact);
  if (!gpus && slot.rank) return RankValue(*slot.rank->rank, fact);
  return std::nullopt;
}

std::vector<size_t> NodeOrder(const Facts& facts, const ViewState& view) {
  std::vector<size_t> order(facts.nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto worse = [&](size_t a, size_t b) {
    return facts.nodes[a].node->worst() > facts.nodes[b].node->worst();
  };
  if (!view.by_name) std::ranges::stable_sort(order, worse);
  return order;
}

std::vector<size_t> RankOrder(const v1::JobSnapshot& snapshot, const Facts& facts,
                              const ViewState& view) {
  std::vector<size_t> order = Sorted(snapshot, facts, view.sort);
  std::erase_if(order, [&](size_t i) {
    return i >= facts.ranks.size() || !Fits(facts.ranks[i], view.filter);
  });
  return order;
}

}  // namespace autodist::top
