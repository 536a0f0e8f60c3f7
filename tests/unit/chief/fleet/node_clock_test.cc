#include "chief/fleet/node_clock.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

constexpr int64_t kClockSecond = 1'000'000'000;
constexpr int64_t kMs = 1'000'000;

// Simulates an answer that took `there` and `back`, from a clock that is ahead by this much.
void Renew(NodeClock& clock, int64_t now, int64_t ahead, int64_t there, int64_t back) {
  const uint64_t number = clock.Ask(now);
  clock.Answered(number, now + there + ahead, now + there + back);
}

TEST(NodeClockTest, TheShortestRoundTripIsUsed) {
  NodeClock clock;
  Renew(clock, 100 * kClockSecond, 5 * kClockSecond, 90 * kMs, 10 * kMs);
  Renew(clock, 104 * kClockSecond, 5 * kClockSecond, kMs, kMs);
  Renew(clock, 108 * kClockSecond, 5 * kClockSecond, 10 * kMs, 90 * kMs);
  EXPECT_EQ(clock.ByOurs(200 * kClockSecond), 195 * kClockSecond);
}

TEST(NodeClockTest, ClocksWithinTheErrorAreEqual) {
  NodeClock clock;
  Renew(clock, 100 * kClockSecond, 2 * kMs, 5 * kMs, 5 * kMs);
  EXPECT_EQ(clock.ByOurs(200 * kClockSecond), 200 * kClockSecond);
}

TEST(NodeClockTest, AChangedClockIsNoticedInALongerRoundTripToo) {
  NodeClock clock;
  Renew(clock, 100 * kClockSecond, 0, kMs, kMs);
  Renew(clock, 104 * kClockSecond, -3600 * kClockSecond, 20 * kMs, 20 * kMs);
  EXPECT_EQ(clock.ByOurs(200 * kClockSecond), 3800 * kClockSecond);
  Renew(clock, 108 * kClockSecond, 3600 * kClockSecond, 20 * kMs, 20 * kMs);
  EXPECT_EQ(clock.ByOurs(4000 * kClockSecond), 400 * kClockSecond);
}

TEST(NodeClockTest, AChangeOfOurClockInvalidatesUntilTheNextAnswer) {
  NodeClock clock;
  Renew(clock, 5000 * kClockSecond, 0, kMs, kMs);
  const uint64_t number = clock.Ask(5004 * kClockSecond);
  clock.Answered(number, 5004 * kClockSecond, 1404 * kClockSecond);
  EXPECT_EQ(clock.ByOurs(200 * kClockSecond), 200 * kClockSecond);
  Renew(clock, 1408 * kClockSecond, 3600 * kClockSecond, 20 * kMs, 20 * kMs);
  EXPECT_EQ(clock.ByOurs(5100 * kClockSecond), 1500 * kClockSecond);
}

TEST(NodeClockTest, OnlyTheLastRenewalIsMeasured) {
  NodeClock clock;
  const uint64_t first = clock.Ask(100 * kClockSecond);
  const uint64_t second = clock.Ask(104 * kClockSecond);
  clock.Answered(first, 500 * kClockSecond, 105 * kClockSecond);
  EXPECT_FALSE(clock.answered());
  EXPECT_EQ(clock.ByOurs(200 * kClockSecond), 200 * kClockSecond);
  clock.Answered(second, 105 * kClockSecond, 105 * kClockSecond);
  EXPECT_TRUE(clock.answered());
}

}  // namespace
}  // namespace autodist::chief
