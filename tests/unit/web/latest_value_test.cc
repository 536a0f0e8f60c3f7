#include "web/job_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "web/streams.h"

namespace autodist::web {
namespace {

using base::Deadline;
using namespace std::chrono_literals;

constexpr std::chrono::seconds kLimit{20};

TEST(LatestValueTest, ASlowViewerGetsTheNewestAndIsNotAwaited) {
  LatestValue latest;
  latest.Publish("1");
  const LatestValue::Update first = latest.Await(0, Deadline::After(kLimit));
  EXPECT_EQ(*first.text, "1");
  const std::weak_ptr<const std::string> skipped = [&] {
    latest.Publish("2");
    return latest.Await(first.number, Deadline::After(kLimit)).text;
  }();
  for (int i = 3; i <= 1000; ++i) latest.Publish(std::to_string(i));
  EXPECT_TRUE(skipped.expired()) << "an unread value is released";
  const LatestValue::Update next = latest.Await(first.number, Deadline::After(kLimit));
  EXPECT_EQ(*next.text, "1000");
  EXPECT_EQ(*first.text, "1") << "what is being sent stays";
}

TEST(LatestValueTest, AllGetTheSameText) {
  LatestValue latest;
  std::vector<std::future<LatestValue::Update>> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(
        std::async(std::launch::async, [&] { return latest.Await(0, Deadline::After(kLimit)); }));
  }
  latest.Publish("snapshot");
  const LatestValue::Update mine = latest.Await(0, Deadline::After(kLimit));
  for (auto& other : waiting) EXPECT_EQ(other.get().text.get(), mine.text.get());
}

TEST(LatestValueTest, WaitsUntilTheDeadlineOrTheEnd) {
  LatestValue latest;
  latest.Publish("1");
  const LatestValue::Update same = latest.Await(1, Deadline::After(1ms));
  EXPECT_EQ(same.number, 1);
  EXPECT_FALSE(same.ended);
  auto waiting =
      std::async(std::launch::async, [&] { return latest.Await(1, Deadline::After(kLimit)); });
  latest.End();
  EXPECT_TRUE(waiting.get().ended);
}

TEST(ConnectionLimitTest, TheNumberOfConnectionsIsLimited) {
  ConnectionLimit seats(2);
  auto first = seats.Take(), second = seats.Take();
  EXPECT_TRUE(first && second);
  EXPECT_EQ(seats.Take(), nullptr);
  const auto same = first;
  first.reset();
  EXPECT_EQ(seats.Take(), nullptr) << "it is still in use";
  second.reset();
  EXPECT_EQ(seats.taken(), 1);
  EXPECT_NE(seats.Take(), nullptr);
}

TEST(ConnectionLimitTest, ASeatMayOutliveTheLimit) {
  std::shared_ptr<const void> seat;
  {
    ConnectionLimit seats(1);
    seat = seats.Take();
  }
  seat.reset();
}

}  // namespace
}  // namespace autodist::web
