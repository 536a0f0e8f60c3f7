#include "agent/life/lifetime.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace autodist::agent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using Clock = base::Deadline::Clock;

constexpr milliseconds kLook{1000};

bool Held(const Lifetime& life) { return life.expires().when() == Clock::time_point::max(); }

TEST(LifetimeTest, ExpiresWithoutMessages) {
  Lifetime life(milliseconds(20));
  EXPECT_FALSE(life.WaitForEnd(kLook, [] {}));
}

TEST(LifetimeTest, ReportsThatItWaits) {
  Lifetime life(milliseconds(50));
  life.ExpectSilence(true);  // also while the lease is suspended
  int waits = 0;
  EXPECT_TRUE(life.WaitForEnd(milliseconds(1), [&] {
    if (++waits == 10) std::thread([&] { life.End(); }).detach();
  }));
  EXPECT_GE(waits, 10);
}

TEST(LifetimeTest, EndsWhenNoRanksAreLeft) {
  Lifetime life{hours(1)};
  auto ended = std::async(std::launch::async, [&] { return life.WaitForEnd(kLook, [] {}); });
  life.End();
  EXPECT_TRUE(ended.get());
}

TEST(LifetimeTest, EachMessageRenewsTheLease) {
  Lifetime life{hours(1)};
  const auto before = life.expires();
  life.Renew();
  EXPECT_LT(before, life.expires());
}

TEST(LifetimeTest, TheLeaseDoesNotRunWhileItIsHeld) {
  Lifetime life(milliseconds(20));
  life.ExpectSilence(true);
  life.Renew();
  auto expired = std::async(std::launch::async, [&] { return !life.WaitForEnd(kLook, [] {}); });
  EXPECT_EQ(expired.wait_for(milliseconds(100)), std::future_status::timeout);
  EXPECT_TRUE(Held(life));
  life.ExpectSilence(false);
  EXPECT_TRUE(expired.get());
}

TEST(LifetimeTest, OnceTheChiefHasReceivedAnAnswerTheLeaseBeginsWithTheAnswer) {
  Lifetime life{hours(2)};
  const auto now = Clock::now();
  life.Renew();
  life.Received(now - hours(1));
  EXPECT_EQ(life.expires().when(), now + hours(1));
  life.Renew();
  life.ExpectSilence(true);  // the answers go on meanwhile
  EXPECT_FALSE(Held(life));
  life.ExpectSilence(false);
  EXPECT_EQ(life.expires().when(), now + hours(1));
  life.Received(now);
  EXPECT_EQ(life.expires().when(), now + hours(2));
  life.Received(now - hours(1));  // delivered late
  EXPECT_EQ(life.expires().when(), now + hours(2));
}

TEST(LifetimeTest, AnAnswerThatWasReceivedLateEndsTheLeaseAtOnce) {
  Lifetime life{hours(1)};
  auto expired = std::async(std::launch::async, [&] { return !life.WaitForEnd(hours(1), [] {}); });
  life.Received(Clock::now() - hours(1));
  EXPECT_TRUE(expired.get());
}

TEST(LifetimeTest, APauseAndAPreparationSuspendItIndependently) {
  Lifetime life{hours(1)};
  life.ExpectSilence(true);
  life.Suspend(hours(8));
  life.ExpectSilence(false);
  EXPECT_GT(life.expires().when(), Clock::now() + hours(8));
  life.ExpectSilence(true);
  life.Suspend({});
  EXPECT_TRUE(Held(life));
  life.ExpectSilence(false);
  EXPECT_LT(life.expires().when(), Clock::now() + hours(2));
}

TEST(LifetimeTest, APauseEndsAfterItsLimitAndALease) {
  Lifetime life{milliseconds(1)};
  life.Suspend(milliseconds(1));
  EXPECT_FALSE(life.WaitForEnd(kLook, [] {}));
}

TEST(LifetimeTest, MessagesThatWereOnTheirWayDoNotShortenAPause) {
  Lifetime life{hours(1)};
  life.Suspend(hours(8));
  life.Renew();
  life.Received(base::Deadline::Clock::now());
  EXPECT_GT(life.expires().when(), Clock::now() + hours(8));
}

TEST(LifetimeTest, ResumingWithoutAPauseRenewsNothing) {
  Lifetime life{hours(1)};
  const auto before = life.expires();
  life.Suspend({});
  EXPECT_EQ(life.expires().when(), before.when());
}

TEST(LifetimeTest, WithoutItsStarterNoChiefComesUnlessOneHasConnected) {
  Lifetime unclaimed{hours(1)};
  unclaimed.StarterGone();
  EXPECT_FALSE(unclaimed.WaitForEnd(kLook, [] {}));
  Lifetime claimed{hours(1)};
  claimed.Renew();
  claimed.StarterGone();
  EXPECT_FALSE(claimed.expires().Expired());
}

TEST(LifetimeTest, ReportsEachEndOfTheLease) {
  Clock::time_point reported;
  Lifetime life(hours(1), [&](base::Deadline expires) { reported = expires.when(); });
  const auto is_current = [&] { return reported == life.expires().when(); };
  life.Renew();
  EXPECT_TRUE(is_current());
  life.ExpectSilence(true);
  EXPECT_EQ(reported, Clock::time_point::max());
  life.ExpectSilence(false);
  EXPECT_TRUE(is_current());
  life.Suspend(hours(8));
  EXPECT_TRUE(is_current());
  life.Suspend({});
  EXPECT_TRUE(is_current());
  life.Received(Clock::now() - seconds(10));
  EXPECT_TRUE(is_current());
  life.Received(Clock::now());
  EXPECT_TRUE(is_current());
  reported = {};
  life.Renew();  // no renewal any more, but a message
  EXPECT_TRUE(is_current());
  life.Shorten(milliseconds(1));
  EXPECT_TRUE(is_current());
  EXPECT_FALSE(life.WaitForEnd(kLook, [] {}));
  EXPECT_EQ(reported, Clock::time_point::max());
  life.Received(Clock::now());
  EXPECT_EQ(reported, Clock::time_point::max());
}

TEST(LifetimeTest, ExpireIsImmediate) {
  Lifetime life{hours(1)};
  life.ExpectSilence(true);
  life.Suspend(hours(1));
  life.Expire();
  EXPECT_FALSE(life.WaitForEnd(kLook, [] {}));
}

}  // namespace
}  // namespace autodist::agent
