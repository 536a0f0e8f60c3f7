#include "metrics/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <thread>

#include "support/example_snapshot.h"

namespace autodist::metrics {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

class ScrapesTest : public testing::Test {
 protected:
  Scrapes::ReadSnapshot Reader() {
    return [this]() -> Result<std::shared_ptr<const v1::JobSnapshot>> {
      ++reads_;
      if (!failure_.ok()) return failure_;
      return std::make_shared<const v1::JobSnapshot>(test::ExampleSnapshot());
    };
  }

  const Scrapes::Clock::time_point start_ = Scrapes::Clock::now();
  int reads_ = 0;
  Status failure_;
};

TEST_F(ScrapesTest, ReadTheSnapshotOnceASecond) {
  Scrapes scrapes(Reader());
  EXPECT_THAT(*scrapes.Scrape(Format::kText, start_), HasSubstr("autodist_job_info"));
  EXPECT_THAT(*scrapes.Scrape(Format::kOpenMetrics, start_ + 999ms), EndsWith("# EOF\n"));
  EXPECT_EQ(reads_, 1);
  EXPECT_TRUE(scrapes.Scrape(Format::kText, start_ + 1s).ok());
  EXPECT_EQ(reads_, 2);
}

TEST_F(ScrapesTest, ReportWhyThereIsNoSnapshotAndRetryLater) {
  failure_ = Error(StatusCode::kUnavailable, "autodist ends");
  Scrapes scrapes(Reader());
  EXPECT_EQ(scrapes.Scrape(Format::kText, start_).status(), failure_);
  EXPECT_EQ(scrapes.Scrape(Format::kText, start_ + 500ms).status(), failure_);
  EXPECT_EQ(reads_, 1);
  failure_ = OkStatus();
  EXPECT_TRUE(scrapes.Scrape(Format::kText, start_ + 1s).ok());
}

TEST_F(ScrapesTest, AMissingSnapshotDoesNotCrash) {
  Scrapes scrapes([]() -> Result<std::shared_ptr<const v1::JobSnapshot>> { return nullptr; });
  EXPECT_EQ(scrapes.Scrape(Format::kText).status().code(), StatusCode::kUnavailable);
}

TEST_F(ScrapesTest, ConcurrentScrapesShareOneRead) {
  std::promise<void> reading;
  std::promise<void> go_on;
  std::atomic<int> reads = 0;
  Scrapes scrapes([&]() -> Result<std::shared_ptr<const v1::JobSnapshot>> {
    if (++reads == 1) {
      reading.set_value();
      go_on.get_future().wait();
    }
    return std::make_shared<const v1::JobSnapshot>(test::ExampleSnapshot());
  });
  std::vector<std::jthread> threads;
  std::atomic<int> answered = 0;
  const auto scrape = [&] { answered += scrapes.Scrape(Format::kText, start_).ok() ? 1 : 0; };
  threads.emplace_back(scrape);
  reading.get_future().wait();
  for (int i = 0; i < 7; ++i) threads.emplace_back(scrape);
  go_on.set_value();
  threads.clear();
  EXPECT_EQ(answered, 8);
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace autodist::metrics
