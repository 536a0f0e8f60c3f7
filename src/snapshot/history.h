// How a job was, from its start on, in a bounded number of points: the older, the wider.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// One point for both: means weighted by their widths; of steps, times and attempts the later.
v1::HistoryPoint Merged(const v1::HistoryPoint& earlier, const v1::HistoryPoint& later);

// Of the metrics that the program reports, `most` at most: the loss first, then as it reports them.
std::vector<std::string> MetricNames(const v1::History& history, size_t most);

// For one thread.
class History {
 public:
  static constexpr size_t kPoints = 600;  // of one width
  static constexpr size_t kWiden = 5;     // points that become one of the next width
  static constexpr size_t kWidths = 4;    // the last one doubles as often as needed

  void Add(v1::HistoryPoint point);
  // The points that end later, oldest first; `since_ms`: since 1970.
  v1::History Since(int64_t since_ms) const;

 private:
  std::array<std::deque<v1::HistoryPoint>, kWidths> points_;  // the newest, narrow ones first
};

}  // namespace autodist::snapshot
