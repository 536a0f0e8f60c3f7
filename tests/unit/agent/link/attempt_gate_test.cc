#include "agent/link/attempt_gate.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace autodist::agent {
namespace {

using Do = AttemptGate::Do;

Do Prepare(AttemptGate& gate, uint64_t generation) {
  const auto what = gate.Prepare(generation);
  EXPECT_TRUE(what.ok()) << what.status();
  return what.value_or(Do::kNothing);
}
void Work(AttemptGate& gate) {
  EXPECT_TRUE(gate.BeginAdopting());
  EXPECT_EQ(gate.WorkEnded(), Do::kNothing);
}
AttemptGate Prepared(uint64_t generation) {
  AttemptGate gate;
  EXPECT_EQ(Prepare(gate, generation), Do::kPrepare);
  Work(gate);
  return gate;
}
AttemptGate Running(uint64_t generation) {
  AttemptGate gate = Prepared(generation);
  EXPECT_TRUE(gate.Start(generation));
  return gate;
}

TEST(AttemptGateTest, TheLifeOfAnAttempt) {
  AttemptGate gate = Running(3);
  EXPECT_TRUE(gate.Stop(3));
  EXPECT_EQ(gate.End(3), Do::kEnd);
  EXPECT_TRUE(gate.Stop(3)) << "may shorten the grace period";
  EXPECT_EQ(gate.Ended(), 3u);
  EXPECT_FALSE(gate.Stop(3));
  EXPECT_EQ(Prepare(gate, 4), Do::kPrepare);
}

TEST(AttemptGateTest, ANodeIsNotPreparedWhile) {
  struct Row {
    const char* what;
    std::function<AttemptGate()> gate;
  };
  const std::vector<Row> rows = {
      {"ranks run", [] { return Running(3); }},
      {"they end",
       [] {
         AttemptGate gate = Running(3);
         EXPECT_EQ(gate.End(3), Do::kEnd);
         return gate;
       }},
      {"an order to end waits for the result of a preparation",
       [] {
         AttemptGate gate;
         Prepare(gate, 3);
         EXPECT_TRUE(gate.BeginAdopting());
         EXPECT_EQ(gate.End(3), Do::kNothing);
         return gate;
       }},
      {"a later plan is prepared", [] { return Prepared(5); }},
      {"the agent ends",
       [] {
         AttemptGate gate;
         EXPECT_EQ(gate.Shutdown(), Do::kEnd);
         EXPECT_EQ(gate.Ended(), UINT64_MAX);
         return gate;
       }},
  };
  for (const Row& row : rows) {
    AttemptGate gate = row.gate();
    EXPECT_FALSE(gate.Prepare(4).ok()) << row.what;
  }
}

TEST(AttemptGateTest, OrdersOfAnotherGenerationAreIgnored) {
  AttemptGate gate = Prepared(3);
  EXPECT_FALSE(gate.Start(2));
  EXPECT_FALSE(gate.Start(4));
  EXPECT_EQ(gate.End(2), Do::kNothing);
  EXPECT_TRUE(gate.Start(3));
  EXPECT_FALSE(gate.Start(3)) << "once";
  EXPECT_FALSE(gate.Stop(2));
  EXPECT_TRUE(gate.Stop(4)) << "about all up to it";
  EXPECT_EQ(gate.End(2), Do::kNothing);
  EXPECT_EQ(gate.End(4), Do::kEnd);
  EXPECT_EQ(gate.Ended(), 4u);
}

TEST(AttemptGateTest, ASecondPreparationWaitsForTheCancelledWorkOfTheFirst) {
  AttemptGate gate;
  EXPECT_EQ(Prepare(gate, 1), Do::kPrepare);
  EXPECT_EQ(Prepare(gate, 2), Do::kCancel);
  EXPECT_FALSE(gate.BeginAdopting());
  EXPECT_EQ(gate.WorkEnded(), Do::kPrepare);
  Work(gate);
  EXPECT_TRUE(gate.Start(2));
}

TEST(AttemptGateTest, AnOrderToEndDoesNotWaitForAPreparationWhichIsDropped) {
  AttemptGate gate;
  Prepare(gate, 1);
  EXPECT_EQ(gate.End(1), Do::kEnd);
  EXPECT_EQ(gate.Ended(), 1u);
  EXPECT_EQ(Prepare(gate, 2), Do::kCancel) << "the work has not ended yet";
  EXPECT_FALSE(gate.BeginAdopting());
  EXPECT_EQ(gate.WorkEnded(), Do::kPrepare);
  Work(gate);
  EXPECT_TRUE(gate.Start(2));
}

// Otherwise the end would be lost: the node begins the streams of the next attempt meanwhile.
TEST(AttemptGateTest, AnOrderToEndWaitsUntilTheResultIsAdopted) {
  for (const bool last : {false, true}) {
    AttemptGate gate;
    Prepare(gate, 1);
    EXPECT_TRUE(gate.BeginAdopting());
    EXPECT_EQ(last ? gate.Shutdown() : gate.End(1), Do::kNothing);
    EXPECT_EQ(gate.WorkEnded(), Do::kEnd);
    EXPECT_FALSE(gate.Start(1));
    EXPECT_EQ(gate.Ended(), last ? UINT64_MAX : 1u);
  }
}

// Several orders to end may end at the same time; the next attempt may have begun meanwhile.
TEST(AttemptGateTest, TheEndIsReportedOnce) {
  AttemptGate gate = Running(3);
  EXPECT_EQ(gate.End(3), Do::kEnd);
  EXPECT_EQ(gate.End(3), Do::kEnd);
  EXPECT_EQ(gate.Ended(), 3u);
  EXPECT_EQ(Prepare(gate, 4), Do::kPrepare);
  EXPECT_EQ(gate.Ended(), std::nullopt);
  Work(gate);
  EXPECT_TRUE(gate.Start(4));
  EXPECT_EQ(gate.Ended(), std::nullopt) << "its ranks run";
}

TEST(AttemptGateTest, ACancelledPreparationIsNotAdopted) {
  AttemptGate gate;
  Prepare(gate, 1);
  gate.CancelPreparation();
  EXPECT_FALSE(gate.BeginAdopting());
  EXPECT_EQ(gate.WorkEnded(), Do::kNothing);
  EXPECT_FALSE(gate.Start(1));
  EXPECT_EQ(Prepare(gate, 1), Do::kPrepare);
}

}  // namespace
}  // namespace autodist::agent
