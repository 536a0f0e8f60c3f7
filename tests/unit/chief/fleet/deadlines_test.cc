#include "chief/fleet/deadlines.h"

#include <gtest/gtest.h>

#include "chief/fleet/all_hold.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;

TEST(CheckTimesTest, DueEntriesAreTakenOnceInOrder) {
  const Loop::Time now{};
  Deadlines times(3);
  EXPECT_EQ(times.next(), Loop::Time::max());
  times.Set(0, now + seconds(3));
  times.Set(1, now + seconds(1));
  times.Set(2, now + seconds(2));
  times.SetEarlier(0, now + seconds(5));  // it is not earlier
  EXPECT_EQ(times.next(), now + seconds(1));
  EXPECT_EQ(times.TakeDue(now), std::nullopt);
  EXPECT_EQ(times.TakeDue(now + seconds(2)), 1u);
  EXPECT_EQ(times.TakeDue(now + seconds(2)), 2u);
  EXPECT_EQ(times.TakeDue(now + seconds(2)), std::nullopt);
  times.SetEarlier(0, now + seconds(2));
  EXPECT_EQ(times.TakeDue(now + seconds(2)), 0u);
  EXPECT_EQ(times.next(), Loop::Time::max());
}

TEST(CheckTimesTest, AnEntryThatIsSetAgainIsDueOnce) {
  const Loop::Time now{};
  Deadlines times(1);
  times.Set(0, now + seconds(1));
  times.Set(0, now + seconds(2));
  EXPECT_EQ(times.TakeDue(now + seconds(3)), 0u);
  EXPECT_EQ(times.TakeDue(now + seconds(3)), std::nullopt);
}

TEST(AllHoldTest, StartsWithTheLastFailingElement) {
  AllHold all;
  std::vector<bool> is(100, false);
  size_t asked = 0;
  const auto holds = [&](size_t i) {
    ++asked;
    return is[i];
  };
  for (size_t i = 0; i < is.size(); ++i) {
    EXPECT_FALSE(all(is.size(), holds));
    is[i] = true;
  }
  EXPECT_LE(asked, 2 * is.size());
  EXPECT_TRUE(all(is.size(), holds));
  is[0] = false;
  EXPECT_FALSE(all(is.size(), holds));
  EXPECT_TRUE(AllHold()(0, holds));
}

}  // namespace
}  // namespace autodist::chief
