#include "snapshot/recovery_times.h"

#include <gtest/gtest.h>

#include <string>

namespace autodist::snapshot {
namespace {

std::string Text(const v1::Recovery& recovery) {
  std::string text = std::to_string(recovery.attempt()) + ":";
  for (const RecoveryPart& part : PartsOf(recovery)) {
    text += std::string(" ") + part.name + " " + std::to_string(part.time);
  }
  return text;
}

TEST(RecoveryTimesTest, ThePartsFollowEachOther) {
  RecoveryTimes times;
  times.Begins(10);  // the first attempt
  times.Runs(20);
  times.FirstStep(30);
  times.Stops(1'000, 400);
  times.Launches(1'100, 1, 50'000);
  times.Begins(1'130);
  times.Runs(1'180);
  ASSERT_EQ(times.last().size(), 1u);
  EXPECT_EQ(Text(times.last()[0]), "1: notice 400 stopping 100 preparing 30 starting 50");
  EXPECT_FALSE(times.last()[0].has_first_step());
  times.FirstStep(2'000);
  times.FirstStep(3'000);
  EXPECT_EQ(times.last()[0].first_step(), 820);
  EXPECT_EQ(Total(times.last()[0]), 1'400);
  EXPECT_EQ(times.last()[0].began_ms(), 49'500);
}

TEST(RecoveryTimesTest, AnAttemptThatIsNotFollowedHasNone) {
  RecoveryTimes times;
  times.Begins(0);
  times.Runs(1);
  times.Stops(10, 0);
  EXPECT_TRUE(times.last().empty());
}

TEST(RecoveryTimesTest, AnAttemptMayFailBeforeItsFirstStep) {
  RecoveryTimes times;
  times.Stops(100, 0);
  times.Launches(110, 1, 0);
  times.Begins(120);
  times.Stops(150, 0);  // before all ranks ran
  times.Stops(160, 0);  // another cause, while they end
  times.Launches(170, 2, 0);
  times.Begins(180);
  times.FirstStep(185);  // one rank is faster than another one's start
  times.Runs(190);
  times.FirstStep(185);
  ASSERT_EQ(times.last().size(), 2u);
  EXPECT_EQ(Text(times.last()[0]), "1: stopping 10 preparing 10");
  EXPECT_EQ(Text(times.last()[1]), "2: stopping 20 preparing 10 starting 10");
  EXPECT_TRUE(times.last()[1].has_first_step());
}

TEST(RecoveryTimesTest, OnlyTheLastOnesAreKept) {
  RecoveryTimes times;
  for (uint32_t attempt = 1; attempt <= 25; ++attempt) {
    times.Stops(attempt * 100, 0);
    times.Launches(attempt * 100 + attempt, attempt, 0);
    times.Begins(attempt * 100 + attempt);
    times.Runs(attempt * 100 + attempt);
  }
  ASSERT_EQ(times.last().size(), RecoveryTimes::kMost);
  EXPECT_EQ(times.last().back().attempt(), 25u);
  v1::JobSnapshot snapshot;
  EXPECT_EQ(TimeToRecover(snapshot), std::nullopt);
  *snapshot.mutable_recoveries() = {times.last().begin(), times.last().end()};
  EXPECT_EQ(TimeToRecover(snapshot), 16);
}

}  // namespace
}  // namespace autodist::snapshot
