// A job's history since its start in a bounded number of points; older points are wider.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Merges two points: means weighted by their widths; step, time and attempt of the later one.
v1::HistoryPoint Merged(const v1::HistoryPoint& earlier, const v1::HistoryPoint& later);

// The names of at most `most` metrics that the program reports: the loss first, then in its order.
std::vector<std::string> MetricNames(const v1::History& history, size_t most);

// Not thread-safe.
class History {
 public:
  static constexpr size_t kPoints = 600;  // per width
  static constexpr size_t kWiden = 5;     // points that are merged into one of the next width
  static constexpr size_t kWidths = 4;    // the last one doubles as often as needed

  void Add(v1::HistoryPoint point);
  // The points that end later, oldest first; `since_ms`: since 1970.
  v1::History Since(int64_t since_ms) const;

 private:
  std::array<std::deque<v1::HistoryPoint>, kWidths> points_;  // newest and narrowest first
};

}  // namespace autodist::snapshot
