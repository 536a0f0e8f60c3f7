// Curves of the job's history in braille dots: a cell has two columns and four rows of dots.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "snapshot/history.h"
#include "top/layout.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

constexpr size_t kMaxCurves = 6;
constexpr int kDotsAcross = 2;
constexpr int kDotsUp = 4;

using Point = v1::HistoryPoint;

struct Curve {
  std::string name;
  std::function<std::optional<double>(const Point&)> value;
  std::function<std::string(double)> text;
  // a smaller range is not stretched to the full height; 0: relative to the value
  double least_height = 0;
};

template <typename Number>
std::function<std::optional<double>(const Point&)> Field(bool (Point::*has)() const,
                                                         Number (Point::*get)() const) {
  return [has, get](const Point& point) -> std::optional<double> {
    if (!(point.*has)()) return std::nullopt;
    return static_cast<double>((point.*get)());
  };
}

std::optional<double> MetricOf(const Point& point, const std::string& name) {
  for (const v1::Metric& metric : point.metrics()) {
    if (metric.name() == name) return metric.value();
  }
  return std::nullopt;
}

std::vector<Curve> CurvesOf(const v1::History& history, bool gpus) {
  constexpr double kCalmShare = 0.2;
  std::vector<Curve> candidates;
  const auto share = [](double value) { return Percent(value); };
  const std::vector<std::string> names = snapshot::MetricNames(history, kMaxCurves);
  const auto add_metric = [&](const std::string& name) {
    candidates.push_back(
        {name, [name](const Point& point) { return MetricOf(point, name); }, MetricText, 0});
  };
  if (!names.empty()) add_metric(names.front());
  candidates.push_back({"steps/s", Field(&Point::has_rate, &Point::rate), Short, 0});
  candidates.push_back(
      {"GPU use %", Field(&Point::has_gpu_use, &Point::gpu_use), share, kCalmShare});
  candidates.push_back({"GPU power W", Field(&Point::has_gpu_power, &Point::gpu_power), Short, 0});
  candidates.push_back(
      {"GPU memory GB", Field(&Point::has_gpu_memory, &Point::gpu_memory), Gigabytes, 0});
  if (!gpus)
    candidates.push_back({"CPU %", Field(&Point::has_cpu, &Point::cpu), share, kCalmShare});
  candidates.push_back(
      {"received per node", Field(&Point::has_received, &Point::received), Speed, 0});
  for (size_t i = 1; i < names.size(); ++i) add_metric(names[i]);
  candidates.push_back(
      {"memory GB per node", Field(&Point::has_memory, &Point::memory), Gigabytes, 0});
  if (gpus) candidates.push_back({"CPU %", Field(&Point::has_cpu, &Point::cpu), share, kCalmShare});
  std::vector<Curve> curves;
  for (Curve& curve : candidates) {
    const bool known = std::ranges::any_of(
        history.points(), [&](const Point& point) { return curve.value(point).has_value(); });
    if (known && curves.size() < kMaxCurves) curves.push_back(std::move(curve));
  }
  return curves;
}

struct Times {
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
};

Times TimesShown(const Scene& scene) {
  const Range& range = kRanges[scene.view.range];
  const v1::JobStatus& job = scene.snapshot.job();
  Times span{0, scene.end_ms()};
  const auto length = std::chrono::milliseconds(range.length).count();
  span.begin_ms = length > 0 ? span.end_ms - length : job.started_ms();
  if (job.started_ms() > 0) span.begin_ms = std::max(span.begin_ms, job.started_ms());
  span.begin_ms = std::min(span.begin_ms, span.end_ms - 1000);
  return span;
}

// The mean in each column of dots; NaN: no data.
std::vector<double> Sampled(const v1::History& history, const Curve& curve, const Times& span,
                            int dots) {
  const auto size = static_cast<size_t>(dots);
  std::vector<double> sums(size);
  std::vector<int> counts(size);
  const double length = static_cast<double>(span.end_ms - span.begin_ms);
  const auto column = [&](int64_t time_ms) {
    return static_cast<double>(time_ms - span.begin_ms) / length * dots;
  };
  for (const Point& point : history.points()) {
    const auto value = curve.value(point);
    if (!value || !std::isfinite(*value) || point.time_ms() <= span.begin_ms) continue;
    const double last = std::min(column(point.time_ms()), dots - 1.0);
    const double first =
        std::clamp(column(point.time_ms() - point.width_ms()), 0.0, std::max(last, 0.0));
    for (auto i = static_cast<size_t>(first); i <= static_cast<size_t>(last) && i < size; ++i) {
      sums[i] += *value;
      ++counts[i];
    }
  }
  for (size_t i = 0; i < size; ++i) {
    sums[i] = counts[i] > 0 ? sums[i] / counts[i] : std::numeric_limits<double>::quiet_NaN();
  }
  return sums;
}

// The bit of a dot in its cell, from the top left, in Unicode's order.
uint32_t Dot(int across, int down) {
  constexpr uint32_t kBits[kDotsUp][kDotsAcross] = {
      {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  return kBits[down][across];
}

struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
};

void PlotDots(const Area& area, const std::vector<double>& values, const Extent& extent) {
  const int dots_up = area.rows() * kDotsUp;
  const double height = extent.most - extent.least;
  const auto level = [&](double value) {
    if (!(height > 0)) return dots_up / 2;
    const long down = std::lround((extent.most - value) / height * (dots_up - 1));
    return static_cast<int>(std::clamp<long>(down, 0, dots_up - 1));
  };
  std::vector<uint32_t> cells(static_cast<size_t>(area.rows() * area.columns()));
  int before = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] == values[i])) {
      before = -1;
      continue;
    }
    const int now = level(values[i]);
    // Draws a line from the previous dot, without that dot's row unless both rows are the same.
    const int from = before < 0 || before == now ? now : before < now ? before + 1 : before - 1;
    const auto across = static_cast<int>(i);
    for (int down = std::min(from, now); down <= std::max(from, now); ++down) {
      const int cell = down / kDotsUp * area.columns() + across / kDotsAcross;
      cells[static_cast<size_t>(cell)] |= Dot(across % kDotsAcross, down % kDotsUp);
    }
    before = now;
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == 0) continue;
    const int cell = static_cast<int>(i);
    area.Set(cell / area.columns(), cell % area.columns(), 0x2800 + cells[i], kAccent);
  }
}

// Makes a curve that hardly changes look flat.
void Widen(Extent& extent, double least_height) {
  constexpr double kCalm = 0.05;  // of the value
  if (!(least_height > 0))
    least_height = kCalm * std::max(std::abs(extent.most), std::abs(extent.least));
  const double missing = least_height - (extent.most - extent.least);
  if (!(missing > 0)) return;
  extent.most += missing / 2;
  extent.least -= missing / 2;
}

// Draws the title, the curve and, from 6 rows on, the times.
void DrawCurve(const Area& area, const Scene& scene, const Curve& curve) {
  constexpr int kWithTimes = 6;
  const Times span = TimesShown(scene);
  const bool times = area.rows() >= kWithTimes;
  const Area plot = area.Rows(1, area.rows() - (times ? 2 : 1));
  if (plot.columns() < 1 || plot.rows() < 1) return;
  const std::vector<double> values =
      Sampled(scene.history, curve, span, plot.columns() * kDotsAcross);
  Extent extent;
  double last = std::numeric_limits<double>::quiet_NaN();
  for (const double value : values) {
    if (!(value == value)) continue;
    extent.least = std::min(extent.least, value);
    extent.most = std::max(extent.most, value);
    last = value;
  }
  const int end = area.Put(0, 0, curve.name);
  area.Put(0, end + 2, kRanges[scene.view.range].name, kLabel);
  if (!(extent.least <= extent.most)) return;
  const std::string now = curve.text(last);
  const std::string between = curve.text(extent.least) + "–" + curve.text(extent.most);
  area.PutRight(0, area.columns(), now, kStrong);
  const int free = area.columns() - WidthOf(now) - 2;
  if (end + 12 + WidthOf(between) < free) area.PutRight(0, free, between, kLabel);
  Widen(extent, curve.least_height);
  PlotDots(plot, values, extent);
  if (!times) return;
  area.Put(area.rows() - 1, 0, ClockMinute(span.begin_ms), kLabel);
  area.PutRight(area.rows() - 1, area.columns(), ClockMinute(span.end_ms), kLabel);
}

}  // namespace

size_t CurveCount(const Scene& scene) { return CurvesOf(scene.history, scene.facts.gpus).size(); }

void DrawCurves(const Area& area, const Scene& scene, int beside_each_other) {
  constexpr int kGap = 3;
  constexpr int kMinRows = 3;
  std::vector<Curve> curves = CurvesOf(scene.history, scene.facts.gpus);
  if (area.rows() < kMinRows || curves.empty()) return;
  const size_t large = scene.view.large;
  if (large > 0 && large <= curves.size()) {
    return DrawCurve(area.Columns(1, area.columns() - 2), scene, curves[large - 1]);
  }
  const int in_row = std::min(beside_each_other, static_cast<int>(curves.size()));
  const int rows_of_curves = std::min((static_cast<int>(curves.size()) + in_row - 1) / in_row,
                                      std::max(area.rows() / (kMinRows + 2), 1));
  const int height = area.rows() / rows_of_curves;
  const int width = (area.columns() - 2 - (in_row - 1) * kGap) / in_row;
  for (int i = 0; i < std::min(static_cast<int>(curves.size()), in_row * rows_of_curves); ++i) {
    const Area strip = area.Rows(i / in_row * height, height);
    DrawCurve(strip.Columns(1 + i % in_row * (width + kGap), width), scene,
              curves[static_cast<size_t>(i)]);
  }
}

}  // namespace autodist::top
