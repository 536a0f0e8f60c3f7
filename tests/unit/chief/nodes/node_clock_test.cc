#include "chief/nodes/node_clock.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMs = 1'000'000;

// An answer that took `there` and `back` to come, from a clock that is ahead by so much.
void Renew(NodeClock& clock, int64_t now, int64_t ahead, int64_t there, int64_t back) {
  const uint64_t number = clock.Ask(now);
  clock.Answered(number, now + there + ahead, now + there + back);
}

TEST(NodeClockTest, TheShortestRoundTripTellsBest) {
  NodeClock clock;
  Renew(clock, 100 * kSecond, 5 * kSecond, 90 * kMs, 10 * kMs);
  Renew(clock, 104 * kSecond, 5 * kSecond, kMs, kMs);
  Renew(clock, 108 * kSecond, 5 * kSecond, 10 * kMs, 90 * kMs);
  EXPECT_EQ(clock.ByOurs(200 * kSecond), 195 * kSecond);
}

TEST(NodeClockTest, ClocksThatAgreeAsFarAsIsKnownAreTheSame) {
  NodeClock clock;
  Renew(clock, 100 * kSecond, 2 * kMs, 5 * kMs, 5 * kMs);
  EXPECT_EQ(clock.ByOurs(200 * kSecond), 200 * kSecond);
}

TEST(NodeClockTest, AClockThatIsSetIsNoticedAlsoByALongerRoundTrip) {
  NodeClock clock;
  Renew(clock, 100 * kSecond, 0, kMs, kMs);
  Renew(clock, 104 * kSecond, -3600 * kSecond, 20 * kMs, 20 * kMs);
  EXPECT_EQ(clock.ByOurs(200 * kSecond), 3800 * kSecond);
  Renew(clock, 108 * kSecond, 3600 * kSecond, 20 * kMs, 20 * kMs);
  EXPECT_EQ(clock.ByOurs(4000 * kSecond), 400 * kSecond);
}

TEST(NodeClockTest, OurOwnThatIsSetInBetweenTellsNothingUntilTheNextAnswer) {
  NodeClock clock;
  Renew(clock, 5000 * kSecond, 0, kMs, kMs);
  const uint64_t number = clock.Ask(5004 * kSecond);
  clock.Answered(number, 5004 * kSecond, 1404 * kSecond);
  EXPECT_EQ(clock.ByOurs(200 * kSecond), 200 * kSecond);
  Renew(clock, 1408 * kSecond, 3600 * kSecond, 20 * kMs, 20 * kMs);
  EXPECT_EQ(clock.ByOurs(5100 * kSecond), 1500 * kSecond);
}

TEST(NodeClockTest, OnlyTheLastRenewalIsMeasured) {
  NodeClock clock;
  const uint64_t first = clock.Ask(100 * kSecond);
  const uint64_t second = clock.Ask(104 * kSecond);
  clock.Answered(first, 500 * kSecond, 105 * kSecond);
  EXPECT_FALSE(clock.answered());
  EXPECT_EQ(clock.ByOurs(200 * kSecond), 200 * kSecond);
  clock.Answered(second, 105 * kSecond, 105 * kSecond);
  EXPECT_TRUE(clock.answered());
}

}  // namespace
}  // namespace autodist::chief
