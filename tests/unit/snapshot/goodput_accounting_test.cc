#include "snapshot/goodput_accounting.h"

#include <gtest/gtest.h>

namespace autodist::snapshot {
namespace {

TEST(GoodputAccountingTest, APartForEachTimeOfAnAttempt) {
  GoodputAccounting ledger(1'000);
  ledger.Runs(3'000);
  ledger.FirstStep(4'000);
  ledger.Stops(10'000);
  ledger.Ends(11'500);
  const v1::GoodputParts at = ledger.At(99'000);
  EXPECT_EQ(at.start_up(), 3'000);
  EXPECT_EQ(at.training(), 6'000);
  EXPECT_EQ(at.stopping(), 1'500);
  EXPECT_EQ(Total(at), 10'500);
  EXPECT_DOUBLE_EQ(*Goodput(at), 6.0 / 10.5);
}

TEST(GoodputAccountingTest, WithoutAnyStepTrainingBeginsWhenTheRanksRun) {
  GoodputAccounting ledger(0);
  ledger.Runs(2'000);
  EXPECT_EQ(ledger.At(5'000).start_up(), 2'000);
  EXPECT_EQ(ledger.At(5'000).training(), 3'000);
}

TEST(GoodputAccountingTest, WhatARestartTakesUpToItsFirstStepIsRestarting) {
  GoodputAccounting ledger(0);
  ledger.Runs(1'000);
  ledger.FirstStep(2'000);
  ledger.Stops(10'000);
  ledger.Launches(11'000);
  ledger.Runs(12'000);
  ledger.FirstStep(14'000);
  ledger.FirstStep(15'000);  // it is the first once
  const v1::GoodputParts at = ledger.At(20'000);
  EXPECT_EQ(at.start_up(), 2'000);
  EXPECT_EQ(at.training(), 8'000 + 6'000);
  EXPECT_EQ(at.stopping(), 1'000);
  EXPECT_EQ(at.restarting(), 3'000);
  EXPECT_EQ(Total(at), 20'000);
}

TEST(GoodputAccountingTest, StalledTimeIsNoTraining) {
  GoodputAccounting ledger(0);
  ledger.Stalls(500, true);  // nothing runs yet
  ledger.Runs(1'000);
  ledger.FirstStep(1'000);
  ledger.Stalls(4'000, true);
  ledger.Stalls(5'000, true);
  ledger.Stalls(9'000, false);
  const v1::GoodputParts at = ledger.At(10'000);
  EXPECT_EQ(at.training(), 4'000);
  EXPECT_EQ(at.stalled(), 5'000);
  EXPECT_EQ(Total(at), 10'000);
}

TEST(GoodputAccountingTest, AStallMayBeSeenLater) {
  GoodputAccounting ledger(0);
  ledger.Runs(1'000);
  ledger.FirstStep(1'000);
  ledger.Stalls(4'000, true);  // told at 6'000
  EXPECT_EQ(ledger.At(6'000).training(), 3'000);
  EXPECT_EQ(ledger.At(6'000).stalled(), 2'000);
  ledger.Stalls(500, true);
  ledger.Stops(7'000);
  const v1::GoodputParts at = ledger.At(7'000);
  EXPECT_EQ(at.stalled(), 3'000);
  EXPECT_EQ(Total(at), 7'000);
}

class LostStepsTest : public testing::Test {
 protected:
  // From 2,000 on it trains.
  LostStepsTest() {
    ledger_.Runs(1'000);
    ledger_.FirstStep(2'000);
  }
  void FailAt(int64_t now_ms) { ledger_.Stops(now_ms, true); }
  void RunAgain(int64_t runs_ms, int64_t step_ms) {
    ledger_.Launches(runs_ms - 500);
    ledger_.Runs(runs_ms);
    ledger_.FirstStep(step_ms);
  }
  void Expect(int64_t now_ms, int64_t training, int64_t lost) {
    const v1::GoodputParts at = ledger_.At(now_ms);
    EXPECT_EQ(at.training(), training);
    EXPECT_EQ(at.lost_steps(), lost);
    EXPECT_EQ(Total(at), now_ms);
  }
  GoodputAccounting ledger_{0};
};

TEST_F(LostStepsTest, WhatWasTrainedSinceTheLastCheckpointIsLostWithAnAttemptThatFails) {
  ledger_.Looked({});
  ledger_.Looked(5'000);
  ledger_.Looked(8'000);
  Expect(10'000, 8'000, 0);
  FailAt(10'000);
  Expect(11'000, 6'000, 2'000);
  RunAgain(13'000, 14'000);
  Expect(20'000, 12'000, 2'000);
  FailAt(20'000);  // nothing was saved since
  Expect(21'000, 6'000, 8'000);
}

TEST_F(LostStepsTest, WhereNobodyLooksForCheckpointsNothingIsKnownToBeLost) {
  FailAt(10'000);
  Expect(11'000, 8'000, 0);
}

TEST_F(LostStepsTest, WithoutAnyCheckpointAllTrainingOfTheAttemptIsLost) {
  ledger_.Looked({});
  FailAt(10'000);
  Expect(11'000, 0, 8'000);
}

TEST_F(LostStepsTest, ACheckpointOfAnEarlierJobSavesNothingOfThisOne) {
  ledger_.Looked(-50'000);
  FailAt(10'000);
  Expect(11'000, 0, 8'000);
}

TEST_F(LostStepsTest, AnAttemptThatEndsAsItShouldLosesNothing) {
  ledger_.Looked(5'000);
  ledger_.Stops(10'000);
  Expect(11'000, 8'000, 0);
}

TEST_F(LostStepsTest, ACheckpointIsHeardOfAfterTheFailure) {
  ledger_.Looked(3'000);
  FailAt(10'000);
  ledger_.Looked(9'500);
  Expect(11'000, 7'500, 500);
  ledger_.Looked(10'800);  // what ranks wrote that were told to end
  Expect(11'000, 8'000, 0);
  ledger_.Looked(4'000);  // it is no news that there are older ones
  Expect(11'000, 8'000, 0);
}

TEST_F(LostStepsTest, ACheckpointOfTheNextAttemptBringsNothingBack) {
  ledger_.Looked({});
  FailAt(10'000);
  RunAgain(11'000, 12'000);
  ledger_.Looked(15'000);
  FailAt(16'000);
  Expect(17'000, 3'000, 8'000 + 1'000);
}

TEST_F(LostStepsTest, StalledTimeIsNotLostAsWell) {
  ledger_.Looked(3'000);
  ledger_.Stalls(4'000, true);
  ledger_.Stalls(7'000, false);
  FailAt(10'000);
  Expect(10'000, 1'000, 4'000);
}

TEST_F(LostStepsTest, AnAttemptThatFailsBeforeItsRanksRunLosesNoMore) {
  ledger_.Looked({});
  FailAt(10'000);
  ledger_.Launches(11'000);
  ledger_.Stops(12'000);
  Expect(13'000, 0, 8'000);
}

TEST_F(LostStepsTest, AnyNumberOfStallsIsRemembered) {
  ledger_.Looked({});
  int64_t now = 2'000;
  for (int i = 0; i < 1'000; ++i) {
    ledger_.Stalls(now += 10, true);
    ledger_.Stalls(now += 20, false);
  }
  ledger_.Looked(now - 5);  // during the last stall
  FailAt(now += 7);
  Expect(now, 10'000, 7);
}

TEST(GoodputAccountingTest, AClockThatIsSetBackTakesNothingAway) {
  GoodputAccounting ledger(10'000);
  ledger.Runs(20'000);
  EXPECT_EQ(Total(ledger.At(15'000)), 10'000);
}

TEST(GoodputAccountingTest, BeforeThereWasAnyTimeThereIsNoGoodput) {
  EXPECT_FALSE(Goodput(GoodputAccounting(5).At(5)).has_value());
}

}  // namespace
}  // namespace autodist::snapshot
