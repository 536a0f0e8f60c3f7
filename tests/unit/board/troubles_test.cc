#include "board/troubles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::board {
namespace {

using testing::HasSubstr;

// Two nodes with two GPUs and ranks each.
v1::Board Healthy(int64_t time_ms) {
  v1::Board board;
  board.set_time_ms(time_ms);
  for (uint32_t number = 0; number < 2; ++number) {
    v1::BoardNode& node = *board.add_nodes();
    node.set_address("node" + std::to_string(number + 1));
    node.set_phase(v1::NODE_PHASE_RUNNING);
    for (uint32_t gpu = 0; gpu < 2; ++gpu) {
      node.add_ranks(2 * number + gpu);
      v1::BoardRank& rank = *board.add_ranks();
      rank.set_rank(2 * number + gpu);
      rank.set_name("rank " + std::to_string(rank.rank()));
      rank.set_node(number);
      rank.add_gpus(gpu);
      rank.set_state(v1::RANK_STATE_RUNNING);
      v1::GpuSample& sample = *node.mutable_sample()->add_gpus();
      sample.set_index(gpu);
      sample.set_clock(1980);
      sample.set_clock_limit(1980);
    }
  }
  return board;
}

void Throttle(v1::Board& board) {
  v1::GpuSample& gpu = *board.mutable_nodes(1)->mutable_sample()->mutable_gpus(0);
  gpu.add_throttled("HW power brake");
  gpu.set_clock(1005);
}

TEST(TroublesTest, AHealthyJobHasNone) {
  EXPECT_TRUE(TroubleWatch().Look(Healthy(1'000)).empty());
  EXPECT_TRUE(TroubleWatch().Look({}).empty());
}

TEST(TroublesTest, ARankThatFailedIsWorstAndNamesItsNode) {
  v1::Board board = Healthy(1'000);
  board.mutable_nodes(0)->set_phase(v1::NODE_PHASE_RECONNECTING);
  board.mutable_ranks(3)->set_state(v1::RANK_STATE_FAILED);
  board.mutable_ranks(3)->set_ended("exited with code 1");
  const auto troubles = TroubleWatch().Look(board);
  ASSERT_EQ(troubles.size(), 2u);
  EXPECT_EQ(troubles[0].kind(), v1::Trouble::KIND_FAILED);
  EXPECT_EQ(troubles[0].what(), "rank 3 on node2 exited with code 1");
  EXPECT_EQ(troubles[1].kind(), v1::Trouble::KIND_AWAY);
  EXPECT_THAT(troubles[1].what(), HasSubstr("node1 does not answer"));
}

TEST(TroublesTest, TheReportOfTheEndComesFirst) {
  v1::Board board = Healthy(1'000);
  for (const int rank : {1, 3}) {
    board.mutable_ranks(rank)->set_state(v1::RANK_STATE_FAILED);
    board.mutable_ranks(rank)->set_ended("exited with code 1");
  }
  board.mutable_job()->set_exit_code(1);
  board.mutable_job()->set_report("rank 3 on node2 (pid 7) exited with code 1: ValueError: x\n  |");
  auto troubles = TroubleWatch().Look(board);
  ASSERT_EQ(troubles.size(), 2u);
  EXPECT_EQ(troubles[0].what(), "rank 3 on node2 (pid 7) exited with code 1: ValueError: x");
  EXPECT_EQ(troubles[1].what(), "rank 1 on node1 exited with code 1");
  board.mutable_job()->set_report("rank 0 on node1 ended with 0 while others went on, 3 s before");
  troubles = TroubleWatch().Look(board);
  EXPECT_EQ(troubles[0].what(), "rank 0 on node1 ended with 0 while others went on, 3 s before");
  EXPECT_EQ(troubles[1].what(), "rank 3 on node2 exited with code 1");
}

TEST(TroublesTest, AGpuIsThrottledWhenThatLastsAndTheRankIsNamed) {
  TroubleWatch watch;
  v1::Board board = Healthy(100'000);
  Throttle(board);
  EXPECT_TRUE(watch.Look(board).empty());
  board.set_time_ms(112'000);
  const auto troubles = watch.Look(board);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_EQ(troubles[0].what(), "GPU 0 of node2 (rank 2) is throttled: HW power brake");
  EXPECT_EQ(troubles[0].since_ms(), 100'000);
  EXPECT_EQ(troubles[0].evidence(1).value(), "1005 MHz of 1980");
}

TEST(TroublesTest, AMomentOfItCountsForNothing) {
  TroubleWatch watch;
  v1::Board throttled = Healthy(100'000);
  Throttle(throttled);
  watch.Look(throttled);
  watch.Look(Healthy(105'000));
  throttled.set_time_ms(112'000);
  EXPECT_TRUE(watch.Look(throttled).empty());
}

TEST(TroublesTest, WhatANodeSaidBeforeItWentAwayIsNoEvidence) {
  TroubleWatch watch;
  v1::Board board = Healthy(100'000);
  Throttle(board);
  board.mutable_nodes(1)->set_phase(v1::NODE_PHASE_LOST);
  watch.Look(board);
  board.set_time_ms(200'000);
  const auto troubles = watch.Look(board);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_EQ(troubles[0].what(), "node2 is lost");
}

TEST(TroublesTest, ARankWhoseStepsTakeLongerIsSlowWhenThatLasts) {
  TroubleWatch watch;
  v1::Board board = Healthy(100'000);
  for (v1::BoardRank& rank : *board.mutable_ranks()) rank.mutable_progress()->set_rate(2.1);
  EXPECT_TRUE(watch.Look(board).empty());
  board.mutable_ranks(1)->mutable_progress()->set_rate(1.5);
  EXPECT_TRUE(watch.Look(board).empty());
  board.set_time_ms(131'000);
  const auto troubles = watch.Look(board);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_EQ(troubles[0].what(), "rank 1 on node1 is 1.4 x slower than the median");
}

TEST(TroublesTest, CoresThatOthersTakeAreTroubleWhereNoneIsLeft) {
  TroubleWatch watch;
  v1::Board board = Healthy(100'000);
  v1::HostSample& host = *board.mutable_nodes(0)->mutable_sample()->mutable_host();
  host.set_cores(8);
  host.set_cpu(0.99);
  for (v1::BoardRank& rank : *board.mutable_ranks()) rank.mutable_sample()->set_cpu(2);
  watch.Look(board);
  board.set_time_ms(111'000);
  ASSERT_EQ(watch.Look(board).size(), 1u);
  EXPECT_THAT(watch.Look(board)[0].what(), HasSubstr("other programs take 3.9 of its 8 cores"));
  host.set_cpu_pressure(0.01);  // none waits for one
  EXPECT_TRUE(watch.Look(board).empty());
  host.clear_cpu_pressure();
  host.set_cpu(0.6);  // there are some for all
  EXPECT_TRUE(watch.Look(board).empty());
}

TEST(TroublesTest, CoresAreNoTroubleOfRanksThatStandStill) {
  TroubleWatch watch;
  v1::Board board = Healthy(100'000);
  v1::HostSample& host = *board.mutable_nodes(0)->mutable_sample()->mutable_host();
  host.set_cores(8);
  host.set_cpu(1);
  for (v1::BoardRank& rank : *board.mutable_ranks()) rank.mutable_sample()->set_cpu(0.01);
  watch.Look(board);
  board.set_time_ms(111'000);
  EXPECT_TRUE(watch.Look(board).empty());
}

TEST(TroublesTest, AFullDiskIsToldWithWhatIsLeft) {
  v1::Board board = Healthy(1'000);
  v1::HostSample& host = *board.mutable_nodes(0)->mutable_sample()->mutable_host();
  host.set_disk_total(uint64_t{1} << 40);
  host.set_disk_free(uint64_t{5} << 20);
  const auto troubles = TroubleWatch().Look(board);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_THAT(troubles[0].what(), HasSubstr("full but for 5.0 MiB"));
}

}  // namespace
}  // namespace autodist::board
