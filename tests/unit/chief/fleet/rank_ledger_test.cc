#include "chief/fleet/rank_ledger.h"

#include <gtest/gtest.h>

namespace autodist::chief::rank_ledger_test {
namespace {

using std::chrono::seconds;
using Time = RankLedger::Time;

constexpr uint64_t kAgent = 7;
constexpr uint64_t kOtherAgent = 8;

Time At(seconds time) { return Time(std::chrono::hours(1)) + time; }

class RankLedgerTest : public testing::Test {
 protected:
  void Start(uint32_t node, uint64_t generation = 1) {
    ledger_.Start(*RankLedger(1).MayStart(At(seconds(0))), node, generation, kAgent);
  }
  bool MayStart(seconds time) const { return ledger_.MayStart(At(time)).has_value(); }

  RankLedger ledger_{3};
};

TEST_F(RankLedgerTest, NothingRunsAtFirst) { EXPECT_TRUE(MayStart(seconds(0))); }

TEST_F(RankLedgerTest, RanksRunUntilTheirAgentReportsTheEnd) {
  Start(0);
  Start(1);
  ledger_.Ended(0, 1, kAgent);
  EXPECT_FALSE(MayStart(std::chrono::hours(1'000)));
  ledger_.Ended(1, 1, kAgent);
  EXPECT_TRUE(MayStart(seconds(0)));
}

TEST_F(RankLedgerTest, AReportOfAnEarlierGenerationOrOfAnotherAgentSaysNothing) {
  Start(0, 5);
  ledger_.Ended(0, 4, kAgent);
  ledger_.Ended(0, 5, kOtherAgent);
  EXPECT_FALSE(MayStart(seconds(0)));
  ledger_.Ended(0, 6, kAgent);  // an order about all up to 6
  EXPECT_TRUE(MayStart(seconds(0)));
}

TEST_F(RankLedgerTest, WithoutItsAgentTheLeaseEndsThem) {
  Start(0);
  Start(1);
  ledger_.EndsBy(0, At(seconds(60)));
  ledger_.EndsBy(1, At(seconds(70)));
  EXPECT_EQ(ledger_.ClearAt(), At(seconds(70)));
  EXPECT_EQ(ledger_.ClearAt(0), At(seconds(60)));
  EXPECT_EQ(ledger_.last(), 1u);
  EXPECT_FALSE(MayStart(seconds(69)));
  EXPECT_TRUE(MayStart(seconds(70)));
}

TEST_F(RankLedgerTest, AConnectionThatComesBackMakesThemRunAgain) {
  Start(0);
  ledger_.EndsBy(0, At(seconds(60)));
  ledger_.Connected(0, kAgent, At(seconds(59)));
  EXPECT_FALSE(MayStart(seconds(61)));
  EXPECT_FALSE(ledger_.Overdue(0, kAgent));
  ledger_.EndsBy(0, At(seconds(80)));
  EXPECT_TRUE(MayStart(seconds(80)));
  ledger_.Connected(0, kAgent, At(seconds(80)));  // its clock stood still
  EXPECT_FALSE(MayStart(seconds(90)));
  EXPECT_TRUE(ledger_.Overdue(0, kAgent));
  EXPECT_FALSE(ledger_.Overdue(0, kOtherAgent));
  ledger_.Ended(0, 1, kAgent);
  EXPECT_FALSE(ledger_.Overdue(0, kAgent));
}

TEST_F(RankLedgerTest, AnotherAgentOnTheNodeProvesNothing) {
  Start(0);
  ledger_.EndsBy(0, At(seconds(60)));
  ledger_.Connected(0, kOtherAgent, At(seconds(1)));
  EXPECT_FALSE(MayStart(seconds(59)));
  EXPECT_TRUE(MayStart(seconds(60)));
}

TEST_F(RankLedgerTest, ConnectionsThatItDoesNotAnswerProlongNothing) {
  Start(0);
  ledger_.EndsBy(0, At(seconds(60)));
  ledger_.Connected(0, kOtherAgent, At(seconds(1)));
  ledger_.EndsBy(0, At(seconds(200)));
  EXPECT_TRUE(MayStart(seconds(60)));
}

TEST_F(RankLedgerTest, OnlyAProofOfTheEndIsTakenForIt) {
  Start(0);
  const Status why = Error(StatusCode::kAborted, "its agent has ended");
  ledger_.Ended(0, why);
  EXPECT_FALSE(MayStart(seconds(0)));
  ledger_.Ended(0, ProofOfEnd::ByNode(why));
  EXPECT_TRUE(MayStart(seconds(0)));
}

TEST_F(RankLedgerTest, ANodeWithoutRanksIsNotWaitedFor) {
  ledger_.EndsBy(2, At(seconds(60)));
  ledger_.Connected(2, kAgent, At(seconds(1)));
  EXPECT_TRUE(MayStart(seconds(0)));
}

}  // namespace
}  // namespace autodist::chief::rank_ledger_test
