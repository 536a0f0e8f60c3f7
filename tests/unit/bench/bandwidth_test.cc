#include "operation.h"

#include <gtest/gtest.h>

#include <limits>

namespace autodist::bench {
namespace {

constexpr double kClose = 1e-9;

v1::BenchPlan PlanOf(uint64_t from, uint64_t to, uint32_t factor) {
  v1::BenchPlan plan;
  plan.set_from(from);
  plan.set_to(to);
  plan.set_factor(factor);
  return plan;
}

std::vector<uint64_t> BytesOf(const std::vector<Size>& sizes) {
  std::vector<uint64_t> bytes;
  for (const Size& size : sizes) bytes.push_back(size.bytes);
  return bytes;
}

// The figures in nccl-tests' documentation of the bus bandwidth.
TEST(BandwidthTest, TheBusBandwidthAgreesWithNcclTests) {
  const uint64_t bytes = 8'000'000'000;
  const double seconds = 2;
  const auto all_reduce = BandwidthOf(v1::COLLECTIVE_ALL_REDUCE, bytes, seconds, 4);
  EXPECT_NEAR(all_reduce.algorithm, 4, kClose);
  EXPECT_NEAR(all_reduce.bus, 4 * 2 * 3 / 4.0, kClose);
  EXPECT_NEAR(BandwidthOf(v1::COLLECTIVE_ALL_GATHER, bytes, seconds, 4).bus, 3, kClose);
  EXPECT_NEAR(BandwidthOf(v1::COLLECTIVE_REDUCE_SCATTER, bytes, seconds, 8).bus, 3.5, kClose);
  EXPECT_NEAR(BandwidthOf(v1::COLLECTIVE_BROADCAST, bytes, seconds, 8).bus, 4, kClose);
  EXPECT_NEAR(BandwidthOf(v1::COLLECTIVE_ALL_TO_ALL, bytes, seconds, 4).bus, 3, kClose);
  EXPECT_NEAR(BandwidthOf(v1::COLLECTIVE_SEND_RECV, bytes, seconds, 8).bus, 4, kClose);
}

TEST(BandwidthTest, ASingleRankTransfersNothing) {
  EXPECT_EQ(BandwidthOf(v1::COLLECTIVE_ALL_REDUCE, 1000, 1, 1).bus, 0);
  EXPECT_EQ(BandwidthOf(v1::COLLECTIVE_ALL_GATHER, 1000, 1, 1).bus, 0);
}

TEST(BandwidthTest, SizesGrowByTheFactorUpToTheLast) {
  EXPECT_EQ(BytesOf(SizesOf(PlanOf(8, 1 << 30, 8), v1::COLLECTIVE_ALL_REDUCE, 4)).back(), 1u << 30);
  EXPECT_EQ(BytesOf(SizesOf(PlanOf(64, 1000, 4), v1::COLLECTIVE_BROADCAST, 4)),
            (std::vector<uint64_t>{64, 256}));
}

TEST(BandwidthTest, ASizeIncludesAllRanksParts) {
  const auto sizes = SizesOf(PlanOf(4096, 4096, 2), v1::COLLECTIVE_ALL_GATHER, 4);
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_EQ(sizes[0].bytes, 4096u);
  EXPECT_EQ(sizes[0].count, 256u);  // floats of each rank
}

TEST(BandwidthTest, EveryRankHasAnElementAndNoSizeIsRepeated) {
  EXPECT_EQ(BytesOf(SizesOf(PlanOf(8, 64, 2), v1::COLLECTIVE_REDUCE_SCATTER, 5)),
            (std::vector<uint64_t>{20, 60}));
  EXPECT_EQ(BytesOf(SizesOf(PlanOf(1, 9, 2), v1::COLLECTIVE_ALL_REDUCE, 5)),
            (std::vector<uint64_t>{4, 8}));
}

TEST(BandwidthTest, PartsBeginAtAlignedAddresses) {
  for (const auto collective : {v1::COLLECTIVE_ALL_GATHER, v1::COLLECTIVE_ALL_TO_ALL}) {
    const auto sizes = SizesOf(PlanOf(1 << 20, 1 << 20, 2), collective, 3);
    ASSERT_EQ(sizes.size(), 1u);
    EXPECT_EQ(sizes[0].count, 87380u);  // 87381 rounded down to a multiple of 16 bytes
    EXPECT_EQ(sizes[0].bytes, 87380u * 3 * 4);
  }
}

TEST(BandwidthTest, SizesEndBeforeAnOverflow) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const auto sizes = SizesOf(PlanOf(most / 2, most, 4), v1::COLLECTIVE_BROADCAST, 1);
  EXPECT_EQ(sizes.size(), 1u);
}

}  // namespace
}  // namespace autodist::bench
