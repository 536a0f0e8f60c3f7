#include "agent/life/lifetime.h"

#include <gtest/gtest.h>

#include <future>

namespace autodist::agent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Clock = base::Deadline::Clock;

bool Held(const Lifetime& life) { return life.expires().when() == Clock::time_point::max(); }

TEST(LifetimeTest, ExpiresWithoutAWord) {
  Lifetime life(milliseconds(20));
  EXPECT_FALSE(life.WaitForEnd());
}

TEST(LifetimeTest, EndsWhenNothingIsLeft) {
  Lifetime life{hours(1)};
  auto ended = std::async(std::launch::async, [&] { return life.WaitForEnd(); });
  life.End();
  EXPECT_TRUE(ended.get());
}

TEST(LifetimeTest, EachWordBeginsTheLeaseAnew) {
  Lifetime life{hours(1)};
  const auto before = life.expires();
  life.Renew();
  EXPECT_LT(before, life.expires());
}

TEST(LifetimeTest, TheLeaseDoesNotRunWhileItIsHeld) {
  Lifetime life(milliseconds(20));
  life.ExpectSilence(true);
  life.Renew();
  auto expired = std::async(std::launch::async, [&] { return !life.WaitForEnd(); });
  EXPECT_EQ(expired.wait_for(milliseconds(100)), std::future_status::timeout);
  EXPECT_TRUE(Held(life));
  life.ExpectSilence(false);
  EXPECT_TRUE(expired.get());
}

TEST(LifetimeTest, APauseAndAPreparationHoldItEachByThemselves) {
  Lifetime life{hours(1)};
  life.ExpectSilence(true);
  life.Suspend(true);
  life.ExpectSilence(false);
  EXPECT_TRUE(Held(life));
  life.ExpectSilence(true);
  life.Suspend(false);
  EXPECT_TRUE(Held(life));
  life.ExpectSilence(false);
  EXPECT_FALSE(Held(life));
}

TEST(LifetimeTest, GoingOnWithoutAPauseRenewsNothing) {
  Lifetime life{hours(1)};
  const auto before = life.expires();
  life.Suspend(false);
  EXPECT_EQ(life.expires().when(), before.when());
}

TEST(LifetimeTest, WithoutItsStarterNobodyComesUnlessSomebodyHas) {
  Lifetime unclaimed{hours(1)};
  unclaimed.StarterGone();
  EXPECT_FALSE(unclaimed.WaitForEnd());
  Lifetime claimed{hours(1)};
  claimed.Renew();
  claimed.StarterGone();
  EXPECT_FALSE(claimed.expires().Expired());
}

TEST(LifetimeTest, ExpireWaitsForNothing) {
  Lifetime life{hours(1)};
  life.ExpectSilence(true);
  life.Suspend(true);
  life.Expire();
  EXPECT_FALSE(life.WaitForEnd());
}

}  // namespace
}  // namespace autodist::agent
