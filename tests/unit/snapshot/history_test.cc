#include "snapshot/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::snapshot {
namespace {

constexpr int64_t kWidth = 2'000;

v1::HistoryPoint Point(int64_t number, double rate) {
  v1::HistoryPoint point;
  point.set_time_ms((number + 1) * kWidth);
  point.set_width_ms(kWidth);
  point.set_step(static_cast<uint64_t>(number));
  point.set_rate(rate);
  return point;
}

TEST(HistoryTest, TwoPointsAreMergedWeightedByTheirWidths) {
  v1::HistoryPoint wide = Point(0, 1);
  wide.set_width_ms(3 * kWidth);
  wide.set_cpu(0.5);
  v1::Metric& loss = *wide.add_metrics();
  loss.set_name("loss");
  loss.set_value(4);
  v1::HistoryPoint narrow = Point(1, 5);
  narrow.set_gpu_use(0.75);
  *narrow.add_metrics() = loss;
  narrow.mutable_metrics(0)->set_value(2);
  const v1::HistoryPoint merged = Merged(wide, narrow);
  EXPECT_DOUBLE_EQ(merged.rate(), 2);
  EXPECT_DOUBLE_EQ(merged.cpu(), 0.5);       // the later one has no value
  EXPECT_DOUBLE_EQ(merged.gpu_use(), 0.75);  // nor the earlier one
  EXPECT_FALSE(merged.has_memory());
  ASSERT_EQ(merged.metrics_size(), 1);
  EXPECT_DOUBLE_EQ(merged.metrics(0).value(), 3.5);
  EXPECT_EQ(merged.step(), 1u);
  EXPECT_EQ(merged.width_ms(), 4 * kWidth);
  EXPECT_EQ(merged.time_ms(), 2 * kWidth);
}

TEST(HistoryTest, TheLastPointsAreUnchanged) {
  History history;
  for (int i = 0; i < 3; ++i) history.Add(Point(i, i));
  const v1::History since = history.Since(kWidth);
  ASSERT_EQ(since.points_size(), 2);
  EXPECT_EQ(since.points(0).step(), 1u);
  EXPECT_EQ(since.points(1).step(), 2u);
}

// For any length: no gaps, no duplicates, and a size limit.
TEST(HistoryTest, OlderPointsAreWiderAndCoverAllTime) {
  History history;
  constexpr int64_t kPointsOfAMonth = 30 * 24 * 3600 * 1000LL / kWidth;
  for (int64_t i = 0; i < kPointsOfAMonth; ++i) history.Add(Point(i, 1.5));
  const v1::History all = history.Since(0);
  EXPECT_LE(all.points_size(), static_cast<int>(History::kWidths * (History::kPoints + 1)));
  int64_t end = 0;
  int64_t width = INT64_MAX / 2;
  for (const v1::HistoryPoint& point : all.points()) {
    EXPECT_EQ(point.time_ms() - point.width_ms(), end);
    // The last ones of a width wait for others to merge with.
    EXPECT_LE(point.width_ms(), 2 * width);
    EXPECT_DOUBLE_EQ(point.rate(), 1.5);
    end = point.time_ms();
    width = point.width_ms();
  }
  EXPECT_EQ(end, kPointsOfAMonth * kWidth);
  EXPECT_EQ(all.points(all.points_size() - 1).width_ms(), kWidth);
}

}  // namespace
}  // namespace autodist::snapshot
