#include "chief/fleet/lease_timer.h"

#include <gtest/gtest.h>

namespace autodist::chief::lease_timer_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LeaseTimer::Time At(milliseconds time) { return LeaseTimer::Time(time); }

constexpr LeaseTimer::Time kAlwaysRan{};

TEST(LeaseTimerTest, ALeaseRunsSinceTheLastContact) {
  LeaseTimer timer(seconds(60));
  timer.Broken(At(seconds(100)));
  EXPECT_EQ(timer.LostAt(kAlwaysRan), At(seconds(160)));
}

TEST(LeaseTimerTest, AnAgentThatDoesNotAnswerIsSilentAfterAWhile) {
  LeaseTimer timer(seconds(60));
  timer.Asked(At(seconds(10)), At(seconds(9)));
  EXPECT_EQ(timer.SilentAt(At(seconds(9)), kAlwaysRan), At(seconds(19)));
  EXPECT_EQ(timer.SilentAt(At(seconds(11)), kAlwaysRan),
            LeaseTimer::Time::max());  // it has answered
}

TEST(LeaseTimerTest, TimeInWhichTheChiefWasStoppedDoesNotCount) {
  LeaseTimer timer(seconds(60));
  timer.Asked(At(seconds(10)), At(seconds(9)));
  timer.Asked(At(seconds(14)), At(seconds(9)));
  EXPECT_EQ(timer.SilentAt(At(seconds(9)), At(seconds(21))), At(seconds(31)));
}

TEST(LeaseTimerTest, AConnectionIsNotAnAnswer) {
  LeaseTimer timer(seconds(60));
  timer.Broken(At(seconds(100)));
  timer.Linked(At(seconds(110)));
  EXPECT_EQ(timer.LostAt(kAlwaysRan), At(seconds(160)));
  EXPECT_EQ(timer.SilentAt(At(seconds(100)), kAlwaysRan), At(seconds(120)));  // and is given up
  EXPECT_EQ(timer.SilentAt(At(seconds(111)), kAlwaysRan), LeaseTimer::Time::max());
}

TEST(LeaseTimerTest, ALeaseDoesNotRunWhileTheChiefWasStopped) {
  LeaseTimer timer(seconds(60));
  timer.Broken(At(seconds(100)));
  EXPECT_EQ(timer.LostAt(At(seconds(500))), At(seconds(560)));
}

TEST(LeaseTimerTest, RanksAreGoneALeaseAfterTheLastContact) {
  const LeaseTimer timer(seconds(60));
  EXPECT_EQ(timer.RanksGoneAt(At(seconds(100))), At(seconds(160)) + LeaseTimer::kKillLimit);
}

TEST(LeaseTimerTest, RanksMayHaveTimeToEndAfterTheLease) {
  const LeaseTimer timer(seconds(60), LeaseTimer::kSilenceLimit, seconds(30));
  EXPECT_EQ(timer.RanksGoneAt(At(seconds(100))), At(seconds(190)) + LeaseTimer::kKillLimit);
}

TEST(LeaseTimerTest, AnAgentMayHoldItsLeaseUntilItHasReceivedThatTheChiefContinues) {
  LeaseTimer timer(seconds(60));
  timer.Hold(At(seconds(100)), seconds(1000));
  EXPECT_EQ(timer.RanksGoneAt(At(seconds(99))), At(seconds(1220)) + LeaseTimer::kKillLimit);
  timer.Release();
  EXPECT_EQ(timer.RanksGoneAt(At(seconds(200))), At(seconds(260)) + LeaseTimer::kKillLimit);
}

TEST(LeaseTimerTest, WithAShortLeaseTheLimitIsHalfOfIt) {
  LeaseTimer timer(seconds(4));
  timer.Asked(At(seconds(10)), At(seconds(9)));
  EXPECT_EQ(timer.SilentAt(At(seconds(9)), kAlwaysRan), At(seconds(11)));
}

}  // namespace
}  // namespace autodist::chief::lease_timer_test
