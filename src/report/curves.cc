// Computes curves of values over the job's time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "report/sections.h"
#include "snapshot/history.h"

namespace autodist::report {
namespace {

using Point = v1::HistoryPoint;

constexpr size_t kMaxMetrics = 4;
constexpr size_t kPlaces = 240;  // means across the width
constexpr double kMaxBytes = 1e18;
// Smaller relative changes are drawn flat.
constexpr double kCalm = 0.05;

struct Value {
  std::string name;
  std::function<std::optional<double>(const Point&)> of;
  std::function<std::string(double)> text;
};

std::string PercentText(double share) { return base::Percent(std::clamp(share, 0.0, 1e6)); }

std::string BytesText(double bytes) {
  return base::Bytes(static_cast<uint64_t>(std::clamp(bytes, 0.0, kMaxBytes)));
}

std::optional<double> Metric(const Point& point, const std::string& name) {
  for (const v1::Metric& metric : point.metrics()) {
    if (metric.name() == name) return metric.value();
  }
  return std::nullopt;
}

template <typename Number>
Value Field(std::string name, bool (Point::*has)() const, Number (Point::*get)() const,
            std::function<std::string(double)> text) {
  return {std::move(name),
          [has, get](const Point& point) -> std::optional<double> {
            if (!(point.*has)()) return std::nullopt;
            return static_cast<double>((point.*get)());
          },
          std::move(text)};
}

std::vector<Value> ValuesOf(const v1::History& history) {
  std::vector<Value> values;
  for (const std::string& name : snapshot::MetricNames(history, kMaxMetrics)) {
    values.push_back(
        {name, [name](const Point& point) { return Metric(point, name); }, NumberText});
  }
  const auto speed = [](double bytes) { return BytesText(bytes) + "/s"; };
  const auto watts = [](double power) { return NumberText(power) + " W"; };
  values.push_back(Field("steps/s", &Point::has_rate, &Point::rate, NumberText));
  values.push_back(Field("GPU use", &Point::has_gpu_use, &Point::gpu_use, PercentText));
  values.push_back(
      Field("GPU memory, of one", &Point::has_gpu_memory, &Point::gpu_memory, BytesText));
  values.push_back(Field("GPU power, of one", &Point::has_gpu_power, &Point::gpu_power, watts));
  values.push_back(Field("CPU use", &Point::has_cpu, &Point::cpu, PercentText));
  values.push_back(Field("memory, of one node", &Point::has_memory, &Point::memory, BytesText));
  values.push_back(Field("received, by one node", &Point::has_received, &Point::received, speed));
  return values;
}

struct Span {
  int64_t begin_ms;
  int64_t end_ms;

  double ShareAt(int64_t time_ms) const {
    return static_cast<double>(time_ms - begin_ms) / static_cast<double>(end_ms - begin_ms);
  }
};

// The mean at each place; nullopt where no point covers it.
std::vector<std::optional<double>> Means(const v1::History& history, const Value& value,
                                         const Span& span) {
  std::vector<std::optional<double>> means(kPlaces);
  std::vector<int> counts(kPlaces);
  const auto place = [&](int64_t time_ms) {
    const double at = span.ShareAt(time_ms) * static_cast<double>(kPlaces);
    return static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(kPlaces - 1)));
  };
  for (const Point& point : history.points()) {
    const auto known = value.of(point);
    if (!known || !std::isfinite(*known) || point.width_ms() < 0) continue;
    const size_t last = place(point.time_ms() - 1);
    for (size_t i = place(point.time_ms() - point.width_ms()); i <= last; ++i) {
      const double mean = means[i].value_or(0);
      means[i] = mean + (*known - mean) / ++counts[i];
    }
  }
  return means;
}

std::vector<double> BeginsOfAttempts(const v1::History& history, const Span& span) {
  std::vector<double> begins;
  for (int i = 1; i < history.points_size(); ++i) {
    const Point& point = history.points(i);
    if (point.attempt() == history.points(i - 1).attempt()) continue;
    begins.push_back(std::clamp(span.ShareAt(point.time_ms() - point.width_ms()), 0.0, 1.0));
  }
  return begins;
}

// Nullopt if no value is known.
std::optional<Curve> CurveOf(const v1::History& history, const Value& value, const Span& span) {
  Curve curve;
  curve.name = value.name;
  curve.heights = Means(history, value, span);
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  double last = 0;
  for (std::optional<double>& height : curve.heights) {
    if (!height || !std::isfinite(*height)) {
      height.reset();
      continue;
    }
    least = std::min(least, *height);
    most = std::max(most, *height);
    last = *height;
  }
  if (!(least <= most)) return std::nullopt;
  curve.least = value.text(least);
  curve.most = value.text(most);
  // Halves each value, because the difference may exceed the range of a double.
  double height = most / 2 - least / 2;
  const double below =
      std::max(kCalm / 2 * std::max(std::abs(least), std::abs(most)) - height, 0.0);
  height += below;  // the other half is above
  for (std::optional<double>& one : curve.heights) {
    if (one) one = height > 0 ? (*one / 2 - least / 2 + below / 2) / height : 0.5;
  }
  curve.last = value.text(last);
  curve.attempts = BeginsOfAttempts(history, span);
  curve.begin = TimeText(span.begin_ms);
  curve.end = TimeText(span.end_ms);
  return curve;
}

}  // namespace

Section CurvesSection(const v1::JobSnapshot& snapshot, const v1::History& history) {
  if (history.points().empty()) return {};
  const Point& first = history.points(0);
  Span span{first.time_ms() - first.width_ms(), EndOf(snapshot)};
  span.end_ms = std::max(span.end_ms, history.points().rbegin()->time_ms());
  if (span.begin_ms >= span.end_ms) return {};
  Curves curves;
  for (const Value& value : ValuesOf(history)) {
    if (auto curve = CurveOf(history, value, span)) curves.curves.push_back(*std::move(curve));
  }
  if (curves.curves.empty()) return {};
  return {"How it went", {std::move(curves)}};
}

}  // namespace autodist::report
