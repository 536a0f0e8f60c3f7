#include "snapshot/history.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <utility>

namespace autodist::snapshot {
namespace {

double Between(double earlier, double later, double share_of_later) {
  return earlier + (later - earlier) * share_of_later;
}

void MergeMetrics(const v1::HistoryPoint& earlier, double share_of_later, v1::HistoryPoint& later) {
  for (const v1::Metric& metric : earlier.metrics()) {
    auto& known = *later.mutable_metrics();
    const auto same = std::ranges::find(known, metric.name(), &v1::Metric::name);
    if (same == known.end()) {
      *later.add_metrics() = metric;
    } else {
      same->set_value(Between(metric.value(), same->value(), share_of_later));
    }
  }
}

// Merges pairs; with an odd number, the last point stays.
void Halve(std::deque<v1::HistoryPoint>& points) {
  size_t kept = 0;
  for (size_t i = 0; i < points.size(); i += 2) {
    points[kept++] =
        i + 1 < points.size() ? Merged(points[i], points[i + 1]) : v1::HistoryPoint(points[i]);
  }
  points.resize(kept);
}

}  // namespace

v1::HistoryPoint Merged(const v1::HistoryPoint& earlier, const v1::HistoryPoint& later) {
  using google::protobuf::FieldDescriptor;
  v1::HistoryPoint merged = later;
  const auto width = static_cast<double>(earlier.width_ms() + later.width_ms());
  const double share = width > 0 ? static_cast<double>(later.width_ms()) / width : 0.5;
  const google::protobuf::Reflection& reflection = *merged.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(earlier, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE) continue;
    const double before = reflection.GetDouble(earlier, field);
    reflection.SetDouble(&merged, field,
                         reflection.HasField(later, field)
                             ? Between(before, reflection.GetDouble(later, field), share)
                             : before);
  }
  MergeMetrics(earlier, share, merged);
  if (!later.has_step() && earlier.has_step()) merged.set_step(earlier.step());
  merged.set_width_ms(earlier.width_ms() + later.width_ms());
  return merged;
}

void History::Add(v1::HistoryPoint point) {
  points_[0].push_back(std::move(point));
  for (size_t width = 0; width + 1 < kWidths && points_[width].size() > kPoints; ++width) {
    v1::HistoryPoint wide = std::move(points_[width].front());
    points_[width].pop_front();
    for (size_t i = 1; i < kWiden; ++i) {
      wide = Merged(wide, points_[width].front());
      points_[width].pop_front();
    }
    points_[width + 1].push_back(std::move(wide));
  }
  if (points_.back().size() > kPoints) Halve(points_.back());
}

v1::History History::Since(int64_t since_ms) const {
  v1::History history;
  for (size_t width = kWidths; width-- > 0;) {
    for (const v1::HistoryPoint& point : points_[width]) {
      if (point.time_ms() > since_ms) *history.add_points() = point;
    }
  }
  return history;
}

std::vector<std::string> MetricNames(const v1::History& history, size_t most) {
  std::vector<std::string> names;
  for (const v1::HistoryPoint& point : history.points()) {
    for (const v1::Metric& metric : point.metrics()) {
      if (std::ranges::count(names, metric.name()) == 0 && names.size() < most) {
        names.push_back(metric.name());
      }
    }
  }
  std::ranges::sort(names, {},
                    [](const std::string& name) { return name.find("loss") == std::string::npos; });
  return names;
}

}  // namespace autodist::snapshot
