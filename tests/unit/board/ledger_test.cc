#include "board/ledger.h"

#include <gtest/gtest.h>

namespace autodist::board {
namespace {

TEST(LedgerTest, APartForEachTimeOfAnAttempt) {
  Ledger ledger(1'000);
  ledger.Runs(3'000);
  ledger.FirstStep(4'000);
  ledger.Stops(10'000);
  ledger.Ends(11'500);
  const v1::Ledger at = ledger.At(99'000);
  EXPECT_EQ(at.start_up(), 3'000);
  EXPECT_EQ(at.training(), 6'000);
  EXPECT_EQ(at.stopping(), 1'500);
  EXPECT_EQ(Total(at), 10'500);
  EXPECT_DOUBLE_EQ(*Goodput(at), 6.0 / 10.5);
}

TEST(LedgerTest, WithoutAnyStepTrainingBeginsWhenTheRanksRun) {
  Ledger ledger(0);
  ledger.Runs(2'000);
  EXPECT_EQ(ledger.At(5'000).start_up(), 2'000);
  EXPECT_EQ(ledger.At(5'000).training(), 3'000);
}

TEST(LedgerTest, WhatARestartTakesUpToItsFirstStepIsRestarting) {
  Ledger ledger(0);
  ledger.Runs(1'000);
  ledger.FirstStep(2'000);
  ledger.Stops(10'000);
  ledger.Launches(11'000);
  ledger.Runs(12'000);
  ledger.FirstStep(14'000);
  ledger.FirstStep(15'000);  // it is the first once
  const v1::Ledger at = ledger.At(20'000);
  EXPECT_EQ(at.start_up(), 2'000);
  EXPECT_EQ(at.training(), 8'000 + 6'000);
  EXPECT_EQ(at.stopping(), 1'000);
  EXPECT_EQ(at.restarting(), 3'000);
  EXPECT_EQ(Total(at), 20'000);
}

TEST(LedgerTest, StalledTimeIsNoTraining) {
  Ledger ledger(0);
  ledger.Stalls(500, true);  // nothing runs yet
  ledger.Runs(1'000);
  ledger.FirstStep(1'000);
  ledger.Stalls(4'000, true);
  ledger.Stalls(5'000, true);
  ledger.Stalls(9'000, false);
  const v1::Ledger at = ledger.At(10'000);
  EXPECT_EQ(at.training(), 4'000);
  EXPECT_EQ(at.stalled(), 5'000);
  EXPECT_EQ(Total(at), 10'000);
}

TEST(LedgerTest, AClockThatIsSetBackTakesNothingAway) {
  Ledger ledger(10'000);
  ledger.Runs(20'000);
  EXPECT_EQ(Total(ledger.At(15'000)), 10'000);
}

TEST(LedgerTest, BeforeThereWasAnyTimeThereIsNoGoodput) {
  EXPECT_FALSE(Goodput(Ledger(5).At(5)).has_value());
}

}  // namespace
}  // namespace autodist::board
