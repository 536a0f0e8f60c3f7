#include "progress/job_progress.h"

#include <gtest/gtest.h>

namespace autodist::progress {
namespace {

v1::Progress Made(const char* source, uint64_t step, uint64_t total, double rate) {
  v1::Progress progress;
  progress.set_source(source);
  progress.set_step(step);
  if (total > 0) progress.set_total(total);
  progress.set_rate(rate);
  v1::Metric& metric = *progress.add_metrics();
  metric.set_name("loss");
  metric.set_value(rate);
  return progress;
}

TEST(JobProgressTest, WithoutReportsThereIsNoProgress) { EXPECT_FALSE(OfJob({})); }

TEST(JobProgressTest, TheSlowestRankCounts) {
  const auto job = OfJob({{0, Made("bar", 10, 100, 2)},
                          {1, Made("bar", 8, 100, 1.5)},
                          {2, Made("bar", 9, 100, 3)},
                          {3, Made("file", 1, 0, 4)},
                          {4, Made("bar", 1, 50, 4)}});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->step(), 8u);
  EXPECT_EQ(job->rate(), 1.5);
  EXPECT_EQ(job->metrics(0).value(), 2) << "those of rank 0";
}

TEST(JobProgressTest, ARankWithMoreDetailsIsPreferred) {
  v1::Progress metrics_only;
  metrics_only.set_source("log line");
  metrics_only.add_metrics()->set_name("lr");
  const auto job =
      OfJob({{0, metrics_only}, {1, Made("bar", 3, 0, 1)}, {7, Made("log line", 5, 9, 2)}});
  ASSERT_TRUE(job);
  EXPECT_EQ(job->step(), 5u) << "as Megatron's last rank";
  EXPECT_EQ(job->total(), 9u);
}

}  // namespace
}  // namespace autodist::progress
