#include "exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace autodist::bench {
namespace {

constexpr auto kNone = std::nullopt;

TEST(PairingTest, FewNodesMeetEachOther) {
  EXPECT_EQ(RoundsOf(2), 1u);
  EXPECT_EQ(PartnersIn(0, {0, 0}), (Partners{1, 0}));
  EXPECT_EQ(RoundsOf(3), 3u);
  EXPECT_EQ(PartnersIn(0, {0, 0, 0}), (Partners{kNone, 2, 1}));
  EXPECT_EQ(RoundsOf(4), 3u);
  EXPECT_EQ(RoundsOf(5), 5u);
}

TEST(PairingTest, OneNodeHasNoPartner) {
  EXPECT_EQ(RoundsOf(1), 0u);
  EXPECT_EQ(RoundsOf(0), 0u);
}

TEST(PairingTest, OfManyNodesSlowOnesGetFastPartners) {
  EXPECT_EQ(RoundsOf(6), 2u);
  EXPECT_EQ(RoundsOf(1000), 2u);
  EXPECT_EQ(PartnersIn(0, {0, 0, 0, 0, 0, 0, 0}), (Partners{1, 0, 3, 2, 5, 4, kNone}));
  // In order of their rates: 2, 3, 4, 5, 0, 1.
  EXPECT_EQ(PartnersIn(1, {9, 9, 1, 1, 8, 8}), (Partners{3, 4, 5, 0, 1, 2}));
}

TEST(PairingTest, OnlyTheSlowNodeIsSlowWithEachPartner) {
  for (size_t nodes = 3; nodes < 20; ++nodes) {
    for (size_t slow = 0; slow < nodes; ++slow) {
      std::vector<double> speeds(nodes, 10);
      speeds[slow] = 1;
      std::vector<double> best(nodes);
      std::set<std::pair<uint32_t, uint32_t>> pairs;
      std::vector<double> rates(nodes);  // of the last round
      for (size_t round = 0; round < RoundsOf(nodes); ++round) {
        const Partners partners = PartnersIn(round, rates);
        rates.assign(nodes, 0);
        for (uint32_t node = 0; node < nodes; ++node) {
          if (!partners[node]) continue;
          EXPECT_EQ(partners[*partners[node]], node);
          EXPECT_TRUE(pairs.insert({node, *partners[node]}).second);
          rates[node] = std::min(speeds[node], speeds[*partners[node]]);
          best[node] = std::max(best[node], rates[node]);
        }
      }
      EXPECT_EQ(best, speeds) << nodes << " nodes, slow: " << slow;
    }
  }
}

}  // namespace
}  // namespace autodist::bench
