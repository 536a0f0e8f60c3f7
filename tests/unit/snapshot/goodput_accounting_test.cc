#include "snapshot/goodput_accounting.h"

#include <gtest/gtest.h>

namespace autodist::snapshot {
namespace {

TEST(GoodputAccountingTest, EachPhaseOfAnAttemptHasAPart) {
  GoodputAccounting accounting(1'000);
  accounting.Runs(3'000);
  accounting.FirstStep(4'000);
  accounting.Stops(10'000);
  accounting.Ends(11'500);
  const v1::GoodputParts at = accounting.At(99'000);
  EXPECT_EQ(at.start_up(), 3'000);
  EXPECT_EQ(at.training(), 6'000);
  EXPECT_EQ(at.stopping(), 1'500);
  EXPECT_EQ(Total(at), 10'500);
  EXPECT_DOUBLE_EQ(*Goodput(at), 6.0 / 10.5);
}

TEST(GoodputAccountingTest, WithoutStepsTrainingBeginsWhenTheRanksRun) {
  GoodputAccounting accounting(0);
  accounting.Runs(2'000);
  EXPECT_EQ(GoodputText(accounting.At(3'999)), "");
  EXPECT_EQ(accounting.At(5'000).start_up(), 2'000);
  EXPECT_EQ(accounting.At(5'000).training(), 3'000);
  EXPECT_EQ(GoodputText(accounting.At(5'000)), "60.0 %, steps unknown");
  accounting.FirstStep(4'000);
  EXPECT_EQ(GoodputText(accounting.At(5'000)), "20.0 %");
  EXPECT_EQ(GoodputText(v1::GoodputParts()), "");
}

TEST(GoodputAccountingTest, TheTimeUpToTheFirstStepOfARestartIsRestarting) {
  GoodputAccounting accounting(0);
  accounting.Runs(1'000);
  accounting.FirstStep(2'000);
  accounting.Stops(10'000);
  accounting.Launches(11'000);
  accounting.Runs(12'000);
  accounting.FirstStep(14'000);
  accounting.FirstStep(15'000);  // only the first one counts
  const v1::GoodputParts at = accounting.At(20'000);
  EXPECT_EQ(at.start_up(), 2'000);
  EXPECT_EQ(at.training(), 8'000 + 6'000);
  EXPECT_EQ(at.stopping(), 1'000);
  EXPECT_EQ(at.restarting(), 3'000);
  EXPECT_EQ(Total(at), 20'000);
}

TEST(GoodputAccountingTest, StalledTimeIsNotTraining) {
  GoodputAccounting accounting(0);
  accounting.Stalls(500, true);  // nothing runs yet
  accounting.Runs(1'000);
  accounting.FirstStep(1'000);
  accounting.Stalls(4'000, true);
  accounting.Stalls(5'000, true);
  accounting.Stalls(9'000, false);
  const v1::GoodputParts at = accounting.At(10'000);
  EXPECT_EQ(at.training(), 4'000);
  EXPECT_EQ(at.stalled(), 5'000);
  EXPECT_EQ(Total(at), 10'000);
}

TEST(GoodputAccountingTest, AStallMayBeReportedLater) {
  GoodputAccounting accounting(0);
  accounting.Runs(1'000);
  accounting.FirstStep(1'000);
  accounting.Stalls(4'000, true);  // reported at 6'000
  EXPECT_EQ(accounting.At(6'000).training(), 3'000);
  EXPECT_EQ(accounting.At(6'000).stalled(), 2'000);
  accounting.Stalls(500, true);
  accounting.Stops(7'000);
  const v1::GoodputParts at = accounting.At(7'000);
  EXPECT_EQ(at.stalled(), 3'000);
  EXPECT_EQ(Total(at), 7'000);
}

class LostStepsTest : public testing::Test {
 protected:
  // From 2,000 on it trains.
  LostStepsTest() {
    accounting_.Runs(1'000);
    accounting_.FirstStep(2'000);
  }
  void FailAt(int64_t now_ms) { accounting_.Stops(now_ms, true); }
  void RunAgain(int64_t runs_ms, int64_t step_ms) {
    accounting_.Launches(runs_ms - 500);
    accounting_.Runs(runs_ms);
    accounting_.FirstStep(step_ms);
  }
  void Expect(int64_t now_ms, int64_t training, int64_t lost) {
    const v1::GoodputParts at = accounting_.At(now_ms);
    EXPECT_EQ(at.training(), training);
    EXPECT_EQ(at.lost_steps(), lost);
    EXPECT_EQ(Total(at), now_ms);
  }
  GoodputAccounting accounting_{0};
};

TEST_F(LostStepsTest, TrainingSinceTheLastCheckpointIsLostWithAFailedAttempt) {
  accounting_.Looked({});
  accounting_.Looked(5'000);
  accounting_.Looked(8'000);
  Expect(10'000, 8'000, 0);
  FailAt(10'000);
  Expect(11'000, 6'000, 2'000);
  RunAgain(13'000, 14'000);
  Expect(20'000, 12'000, 2'000);
  FailAt(20'000);  // no checkpoint since
  Expect(21'000, 6'000, 8'000);
}

TEST_F(LostStepsTest, WithoutACheckpointFolderNothingIsKnownToBeLost) {
  FailAt(10'000);
  Expect(11'000, 8'000, 0);
}

TEST_F(LostStepsTest, WithoutACheckpointAllTrainingOfTheAttemptIsLost) {
  accounting_.Looked({});
  FailAt(10'000);
  Expect(11'000, 0, 8'000);
}

TEST_F(LostStepsTest, ACheckpointOfAnEarlierJobDoesNotCount) {
  accounting_.Looked(-50'000);
  FailAt(10'000);
  Expect(11'000, 0, 8'000);
}

TEST_F(LostStepsTest, ASuccessfulAttemptLosesNothing) {
  accounting_.Looked(5'000);
  accounting_.Stops(10'000);
  Expect(11'000, 8'000, 0);
}

TEST_F(LostStepsTest, ACheckpointMayBeFoundAfterTheFailure) {
  accounting_.Looked(3'000);
  FailAt(10'000);
  accounting_.Looked(9'500);
  Expect(11'000, 7'500, 500);
  accounting_.Looked(10'800);  // written by stopped ranks
  Expect(11'000, 8'000, 0);
  accounting_.Looked(4'000);  // an older one changes nothing
  Expect(11'000, 8'000, 0);
}

TEST_F(LostStepsTest, ACheckpointOfTheNextAttemptRecoversNothing) {
  accounting_.Looked({});
  FailAt(10'000);
  RunAgain(11'000, 12'000);
  accounting_.Looked(15'000);
  FailAt(16'000);
  Expect(17'000, 3'000, 8'000 + 1'000);
}

TEST_F(LostStepsTest, StalledTimeIsNotAlsoLost) {
  accounting_.Looked(3'000);
  accounting_.Stalls(4'000, true);
  accounting_.Stalls(7'000, false);
  FailAt(10'000);
  Expect(10'000, 1'000, 4'000);
}

TEST_F(LostStepsTest, AnAttemptThatFailsBeforeItsRanksRunLosesNothing) {
  accounting_.Looked({});
  FailAt(10'000);
  accounting_.Launches(11'000);
  accounting_.Stops(12'000);
  Expect(13'000, 0, 8'000);
}

TEST_F(LostStepsTest, AnyNumberOfStallsIsStored) {
  accounting_.Looked({});
  int64_t now = 2'000;
  for (int i = 0; i < 1'000; ++i) {
    accounting_.Stalls(now += 10, true);
    accounting_.Stalls(now += 20, false);
  }
  accounting_.Looked(now - 5);  // during the last stall
  FailAt(now += 7);
  Expect(now, 10'000, 7);
}

TEST(GoodputAccountingTest, AClockThatIsSetBackRemovesNoTime) {
  GoodputAccounting accounting(10'000);
  accounting.Runs(20'000);
  EXPECT_EQ(Total(accounting.At(15'000)), 10'000);
}

TEST(GoodputAccountingTest, WithoutElapsedTimeThereIsNoGoodput) {
  EXPECT_FALSE(Goodput(GoodputAccounting(5).At(5)).has_value());
}

}  // namespace
}  // namespace autodist::snapshot
